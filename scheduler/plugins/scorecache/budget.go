package scorecache

// budget keeps a key whose rankings do not last from costing more than it saves. Each pod of the key earns
// one; a ranking is paid for out of that. One that served fewer pods than would have paid for it doubles
// what the next one takes, so that in the worst case a small share of the stock scheduler's time is lost.
type budget struct {
	earned int
	served int
	// factor is how many times the price must have been earned.
	factor int
}

// maxFactor bounds what can be lost to one part in so many, and how long a key is slow to recover.
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

// backOff doubles what the next ranking takes.
func (b *budget) backOff() { b.factor = min(2*max(b.factor, 1), maxFactor) }
