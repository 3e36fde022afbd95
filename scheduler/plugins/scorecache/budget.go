package scorecache

// budget keeps a key whose rankings do not last from costing more than it saves. Each pod of the key earns one credit,
// and a ranking is paid for with credits. A ranking that served fewer pods than its price doubles the price of the next
// one, so in the worst case only a small share of the stock scheduler's time is lost.
type budget struct {
	earned int
	served int
	// factor multiplies the price of the next ranking.
	factor int
}

// maxFactor bounds how slowly a key recovers. The time lost is at most one part in so many.
const maxFactor = 64

// earn counts a pod.
func (b *budget) earn() { b.earned++ }

// serve counts a pod that was given a node by a ranking.
func (b *budget) serve() {
	b.earned++
	b.served++
}

// affords says whether a ranking may be made.
func (b *budget) affords(price int) bool { return b.earned >= price*max(b.factor, 1) }

// spend pays for a ranking.
func (b *budget) spend() { b.earned, b.served = 0, 0 }

// settle is called at a ranking's end.
func (b *budget) settle(price int) {
	if b.served > price {
		b.factor = 1
		return
	}
	b.backOff()
}

// backOff doubles the price of the next ranking.
func (b *budget) backOff() { b.factor = min(2*max(b.factor, 1), maxFactor) }
