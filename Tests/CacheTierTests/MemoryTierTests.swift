import Entitlements
import Runtime
import TestSupport
import Testing

@testable import CacheTier

/// Names of keys for tests that see the rest from outside.
enum StorageLayoutForTests {
    static func holder(_ key: CustomerKey) -> String { StorageLayout.key(key.path) }
    static func changeStream(_ key: CustomerKey) -> String { StorageLayout.changeStream(ofPath: key.path) }
}

@Suite struct MemoryTierTests {
    let memory = MemoryTier(capacity: 64 << 20, metrics: CacheMetrics(Metrics()))
    let key = TestApp().key(anna)

    private func customer(_ revision: UInt64, epoch: Int = 0, _ records: [LineageRecord] = []) -> CachedCustomer {
        CachedCustomer(
            key: key, revision: revision, records: records, readAt: .now, epoch: epoch, storedBytes: 100)
    }

    /// A read that never ends: the tests end it by hand.
    private func beginLoad() { _ = memory.load(key) { Task { .failure(.storeUnreachable("")) } } }

    @Test func aReadThatLeftBeforeAChangeIsRepeated() {
        beginLoad()
        #expect(memory.notice(key.path, revision: 6) == nil)
        #expect(memory.finishLoad(customer(5), isLastTry: false) == nil)
        #expect(memory.find(key) == nil)
        #expect(memory.finishLoad(customer(6), isLastTry: false)?.doubt == nil)
        #expect(memory.find(key)?.customer.revision == 6)
    }

    @Test func aReadThatIsOutdatedToTheLastIsNotKept() {
        beginLoad()
        _ = memory.notice(key.path, revision: 6)
        #expect(memory.finishLoad(customer(5), isLastTry: true)?.customer.revision == 5)
        #expect(memory.find(key) == nil)
    }

    @Test func aChangeAfterAReadPutsItInDoubtAndAnEarlierOneDoesNot() {
        beginLoad()
        _ = memory.finishLoad(customer(5), isLastTry: false)
        #expect(memory.notice(key.path, revision: 5) == nil)
        #expect(memory.find(key)?.doubt == nil)
        #expect(memory.notice(key.path, revision: 6) == key)
        #expect(memory.find(key)?.doubt?.cause == .changed)
        beginLoad()
        _ = memory.finishLoad(customer(6), isLastTry: false)
        #expect(memory.find(key)?.doubt == nil)
    }

    @Test func aReadFromBeforeTheFeedLostItsPlaceIsRepeated() {
        beginLoad()
        let before = memory.epoch(of: key)
        memory.beginEpoch(lastHeard: .now, storeWasReplaced: false)
        #expect(memory.finishLoad(customer(5, epoch: before), isLastTry: false) == nil)
        #expect(memory.finishLoad(customer(5, epoch: memory.epoch(of: key)), isLastTry: false) != nil)
    }

    @Test func whatIsInMemoryWhenTheFeedLosesItsPlaceIsInDoubtSinceItWasLastHeard() {
        beginLoad()
        _ = memory.finishLoad(customer(5), isLastTry: false)
        let heard = ContinuousClock.now - .seconds(3)
        memory.beginEpoch(lastHeard: heard, storeWasReplaced: false)
        memory.beginEpoch(lastHeard: .now, storeWasReplaced: false)
        #expect(memory.find(key)?.doubt == MemoryTier.Doubt(cause: .unknown, since: heard))
    }

    @Test("Invariant 5: facts that the store has lost stay in memory until it has them again")
    func factsThatTheStoreLostStay() {
        let app = TestApp()
        let first = folded([app.period("1")], app.lineage())
        let both = folded([app.period("1"), app.period("2", from: 30, to: 60)], app.lineage())
        beginLoad()
        _ = memory.finishLoad(customer(9, [both]), isLastTry: false)
        memory.beginEpoch(lastHeard: .now, storeWasReplaced: true)
        #expect(memory.notice(key.path, revision: 1) == key)
        beginLoad()
        let kept = memory.finishLoad(customer(1, epoch: 1, [first]), isLastTry: false)
        #expect(kept?.customer.records == [both])
        #expect(kept?.doubt?.cause == .orphaned)
        #expect(memory.notice(key.path, revision: 2) == key)
        beginLoad()
        let again = memory.finishLoad(customer(2, epoch: 1, [both]), isLastTry: false)
        #expect(again?.customer.records == [both])
        #expect(again?.doubt == nil)
    }

    @Test("Invariant 10: ids that nobody has, asked for again and again, drive out no customer")
    func whoIsUnknownDrivesOutNobody() {
        let app = TestApp()
        let memory = MemoryTier(capacity: 4 << 20, metrics: CacheMetrics(Metrics()))
        func read(_ name: String, _ revision: UInt64) {
            let read = CachedCustomer(
                key: app.key(name), revision: revision, records: [], readAt: .now, epoch: 0, storedBytes: 100)
            _ = memory.finishLoad(read, isLastTry: true)
        }
        let customers = (0..<200).map { "customer-\($0)" }
        for customer in customers { read(customer, 1) }
        for number in 0..<20_000 {
            read("nobody-\(number)", 0)
            _ = memory.find(app.key("nobody-\(number)"))
        }
        let left = customers.filter { memory.find(app.key($0)) != nil }
        #expect(left.count == customers.count)
        // One who buys is a customer from then on.
        read("nobody-1", 1)
        #expect(memory.find(app.key("nobody-1"))?.customer.revision == 1)
    }

    @Test func whatTheSnapshotHasGivesWayToWhatTheStoreSays() {
        let old = memory.standBy(
            MemoryTier.Entry(customer: customer(3), doubt: MemoryTier.Doubt(cause: .aged, since: .now)))
        #expect(old.customer.revision == 3)
        #expect(memory.find(key)?.doubt?.cause == .aged)
        beginLoad()
        #expect(memory.finishLoad(customer(4), isLastTry: false)?.doubt == nil)
        // And does not come back in its place.
        let late = memory.standBy(
            MemoryTier.Entry(customer: customer(3), doubt: MemoryTier.Doubt(cause: .aged, since: .now)))
        #expect(late.customer.revision == 4)
        #expect(memory.find(key)?.doubt == nil)
    }
}

@Suite struct SieveCacheTests {
    @Test("Invariant 10: it never holds more than it may, and all that it says it holds", arguments: 0..<20)
    func itStaysWithinItsBound(seed: Int) {
        var cache = SieveCache<Int, Int>(capacity: 100)
        var costs: [Int: Int] = [:]
        for step in 0..<2000 {
            let key = Int.random(in: 0..<40)
            switch Int.random(in: 0..<10) {
            case 0:
                cache.remove(key)
                #expect(cache.peek(key) == nil)
            case 1...5: if let value = cache.value(for: key) { #expect(value % 40 == key) }
            default:
                let cost = Int.random(in: 0..<130)
                cache.insert(step * 40 + key, for: key, cost: cost)
                costs[key] = cost
                #expect(cache.peek(key) == (cost <= 100 ? step * 40 + key : nil))
            }
            let held = (0..<40).filter { cache.peek($0) != nil }
            #expect(cache.count == held.count)
            check(cache.cost == held.reduce(0) { $0 + (costs[$1] ?? 0) })
            #expect(cache.cost <= 100)
        }
    }

    @Test func whatIsAskedForOftenSurvivesAScan() {
        var cache = SieveCache<Int, Int>(capacity: 100)
        for key in 0..<50 { cache.insert(key, for: key, cost: 1) }
        for key in 0..<50 { _ = cache.value(for: key) }
        for key in 1000..<1200 {
            cache.insert(key, for: key, cost: 1)
            // They come back while the scan goes on.
            for regular in 0..<50 { _ = cache.value(for: regular) }
        }
        check((0..<50).allSatisfy { cache.peek($0) != nil })
        #expect(cache.count == 100)
    }
}
