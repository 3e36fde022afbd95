// Where the page has it from: the server, which goes on telling, or the page itself.

// Calls `begin` with what is now, `told` with each message and `before` with the past.
async function listen({ begin, told, before, away }) {
  const now = await ask("now");
  begin(now);
  const events = new EventSource(`events?after=${now.seq}`);
  events.addEventListener("message", (event) => {
    away("");
    told(JSON.parse(event.data));
  });
  events.addEventListener("open", () => away(""));
  events.addEventListener("error", () => away("stowage does not answer any more"));
  events.addEventListener("again", () => {
    events.close();
    listen({ begin, told, before, away });
  });
  const [nodes, pods] = now.entries;
  before(await ask(`past?nodes=${nodes}&pods=${pods}`));
}

async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.said);
  return said;
}
