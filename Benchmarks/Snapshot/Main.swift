import Entitlements
import Glibc
import Runtime
import Time

@testable import CacheTier

/// One step of `Benchmarks/snapshot`.
@main
enum SnapshotBenchmark {
    static let app = AppID("bench")

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, let number = Int(arguments[3]) else { exit(2) }
        let folder = SnapshotFolder("\(arguments[2])/snapshot")
        switch arguments[1] {
        case "make": try make(folder, customers: number)
        case "open": try open(folder, customers: number)
        case "memory": try memory(folder, customers: number)
        case "feed":
            guard arguments.count == 6, let rate = Int(arguments[4]), let seconds = Int(arguments[5]) else { exit(2) }
            try await FeedLag(folder: "\(arguments[2])/following", port: number, rate: rate, seconds: seconds).measure()
        default: exit(2)
        }
    }

    static func key(_ number: Int) -> CustomerKey {
        // In the form of a token, and spread over the whole file as tokens are.
        let mixed = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        let digits = Array(
            String(repeating: "0", count: 16 - String(mixed, radix: 16).count) + String(mixed, radix: 16))
        let text = String(digits[0..<8]) + "-" + String(digits[8..<12]) + "-4000-8000-00000" + String(digits[9..<16])
        return CustomerKey(app: app, environment: .production, customer: text)
    }

    /// One subscription with about 600 bytes as stored.
    static func record(_ number: Int, revision: UInt64 = 1) -> [UInt8] {
        let lineage = LineageID(app: app, environment: .production, originalTransactionID: "2000000\(number)")
        let signed = Timestamp(milliseconds: 1_795_000_000_000 + Int64(revision))
        var record = LineageRecord(lineage: lineage)
        for period in 0..<2 as Range<Int64> {
            let begins = Timestamp(milliseconds: 1_795_000_000_000 + period * 2_592_000_000)
            record.fold(
                Observation(
                    lineage: lineage, source: .notification, signedDate: signed,
                    transaction: TransactionFact(
                        transactionID: "20000\(number)\(period)",
                        originalTransactionID: lineage.originalTransactionID, productID: "com.example.pro.monthly",
                        signedDate: signed, purchaseDate: begins, expiresDate: begins + .seconds(2_592_000),
                        type: "Auto-Renewable Subscription", subscriptionGroupID: "20000001",
                        appAccountToken: key(number).customer, ownership: "PURCHASED",
                        payloadHash: "h\(number)\(period)")))
        }
        return Array("\(revision):".utf8) + record.encoded()
    }

    private static func row(_ number: Int) -> SnapshotRow {
        SnapshotRow(
            path: key(number).path, revision: 1,
            fields: [SnapshotRow.Field(name: "l:2000000\(number)", value: record(number))])
    }

    private static func make(_ folder: SnapshotFolder, customers: Int) throws {
        let began = ContinuousClock.now
        let file = try folder.open(at: Timestamp(milliseconds: 0)).file
        var stored = 0
        for start in stride(from: 0, to: customers, by: 20_000) {
            let rows = (start..<min(customers, start + 20_000)).map(row).sorted { $0.path < $1.path }
            stored += rows.reduce(0) { $0 + $1.fields[0].value.count }
            try file.write(rows) { meta in
                meta.store = "bench"
                meta.isComplete = true
                meta.heard = Timestamp(milliseconds: 0)
            }
        }
        let seconds = (.now - began) / .seconds(1)
        print("\(customers) customers of \(stored / max(1, customers)) bytes each")
        print("  written in       \(Int(seconds)) s, \(Int(Double(customers) / seconds)) a second")
        print("  size             \(try file.bytes >> 20) MiB")
    }

    private static func open(_ folder: SnapshotFolder, customers: Int) throws {
        let before = residentBytes
        let began = ContinuousClock.now
        let file = try folder.open(at: Timestamp(milliseconds: 0)).file
        let opened = ContinuousClock.now
        guard file.meta.holders == Int64(customers),
            try file.find(key(customers / 2).path)?.row?.records().count == 1
        else { throw Failure("the file lacks customers") }
        let first = ContinuousClock.now
        print("opened by another process")
        print("  opening          \(milliseconds(opened - began)) ms")
        print("  first read       \(milliseconds(first - opened)) ms")
        var reads = 0
        let start = ContinuousClock.now
        while .now - start < .seconds(3) {
            for _ in 0..<100 {
                guard try file.find(key(Int.random(in: 0..<customers)).path)?.row != nil else {
                    throw Failure("a customer is missing")
                }
            }
            reads += 100
        }
        print(
            "  reads            \(Int(Double(reads) / ((.now - start) / .seconds(1)))) a second, one thread, any customer"
        )
        print("  resident memory  \((residentBytes - before) >> 20) MiB more after them, however many are in the file")
    }

    private static func memory(_ folder: SnapshotFolder, customers: Int) throws {
        let before = residentBytes
        let tier = MemoryTier(capacity: 64 << 30, metrics: CacheMetrics(Metrics()))
        let map = ProductMapInForce(
            map: ProductMap(
                version: "1",
                products: ["com.example.pro.monthly": .init(entitlements: ["pro"], group: "g", level: 1)]),
            generation: 1)
        for number in 0..<customers {
            let row = row(number)
            let customer = CachedCustomer(
                key: key(number), revision: 1, records: try row.records(), readAt: .now, epoch: 0,
                storedBytes: row.fields[0].value.count)
            _ = tier.finishLoad(customer, isLastTry: true)
            // As one who has asked leaves it.
            _ = customer.view(
                at: Timestamp(milliseconds: 1_796_000_000_000), map: map, policy: .standard, isAboutNow: true)
        }
        let bytes = residentBytes - before
        print("in memory, asked for once")
        print(
            "  resident memory  \(bytes / max(1, customers)) bytes a customer, "
                + "\((bytes / max(1, customers) * 1_000_000) >> 20) MiB for a million (from \(customers))")
        withExtendedLifetime(tier) {}
    }

    static func milliseconds(_ duration: Duration) -> String {
        let hundredths = Int(duration / .microseconds(10))
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    private static var residentBytes: Int {
        guard let text = try? File.text(at: "/proc/self/statm", limit: 4096) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }
}

struct Failure: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}
