/// A bounded dictionary that evicts by SIEVE (Zhang et al., NSDI 2024).
///
/// A hit sets one bit and moves nothing, so it is cheap under a lock; what is asked for once leaves soon, so that a scan
/// over many customers, or many ids that nobody knows, does not drive out those who come every day. LRU does neither.
struct SieveCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Slot {
        var key: Key
        var value: Value
        var cost: Int
        var visited = false
        /// The next younger and the next older one; -1 at the ends.
        var younger = -1
        var older = -1
    }

    let capacity: Int
    private(set) var cost = 0
    private(set) var evictions = 0
    private var places: [Key: Int] = [:]
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var youngest = -1
    private var oldest = -1
    private var hand = -1

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { places.count }

    /// Finds a value and notes that it was wanted.
    mutating func value(for key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        slots[place]?.visited = true
        return slots[place]?.value
    }

    /// Finds a value without noting anything.
    func peek(_ key: Key) -> Value? { places[key].flatMap { slots[$0]?.value } }

    /// Changes a value of the same cost without noting anything.
    mutating func update(_ value: Value, for key: Key) {
        if let place = places[key] { slots[place]?.value = value }
    }

    /// Changes all values, none of them in cost.
    mutating func updateAll(_ body: (inout Value) -> Void) {
        for place in slots.indices {
            guard var slot = slots[place] else { continue }
            body(&slot.value)
            slots[place] = slot
        }
    }

    /// Stores a value, in place of one with the same key; evicts others as needed. What does not fit at all is not kept.
    mutating func insert(_ value: Value, for key: Key, cost: Int) {
        if let place = places[key], let old = slots[place] {
            guard cost <= capacity else { return remove(key) }
            self.cost += cost - old.cost
            slots[place]?.value = value
            slots[place]?.cost = cost
            // Evicting must not take the one that was just put here.
            slots[place]?.visited = true
            evict(keeping: place)
            return
        }
        guard cost <= capacity else { return }
        let place = free.popLast() ?? slots.count
        if place == slots.count { slots.append(nil) }
        slots[place] = Slot(key: key, value: value, cost: cost, older: youngest)
        if youngest >= 0 { slots[youngest]?.younger = place } else { oldest = place }
        youngest = place
        places[key] = place
        self.cost += cost
        evict(keeping: place)
    }

    mutating func remove(_ key: Key) {
        guard let place = places[key] else { return }
        unlink(place)
    }

    private mutating func evict(keeping kept: Int) {
        while cost > capacity, places.count > 1 {
            var place = hand >= 0 ? hand : oldest
            // Each visit takes a bit away, so the second round ends at the latest.
            while let slot = slots[place], slot.visited || place == kept {
                slots[place]?.visited = false
                place = slot.younger >= 0 ? slot.younger : oldest
            }
            hand = slots[place]?.younger ?? -1
            unlink(place)
            evictions += 1
        }
    }

    private mutating func unlink(_ place: Int) {
        guard let slot = slots[place] else { return }
        if slot.younger >= 0 { slots[slot.younger]?.older = slot.older } else { youngest = slot.older }
        if slot.older >= 0 { slots[slot.older]?.younger = slot.younger } else { oldest = slot.younger }
        if hand == place { hand = slot.younger }
        places[slot.key] = nil
        slots[place] = nil
        free.append(place)
        cost -= slot.cost
    }
}
