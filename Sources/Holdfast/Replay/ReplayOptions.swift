import Broker
import Entitlements
import Replay
import Time

/// What `holdfast replay` was asked to do, with what.
struct ReplayOptions {
    enum Work {
        case compareLive
        case out(String)
        case against(String)
        case customer(String)
        case apply
        case export(String)
    }

    let work: Work
    /// Files in place of the ledger.
    let files: [String]
    let app: AppID?
    let environment: StoreEnvironment?
    let start: LedgerStart
    let receivedSince: Timestamp?
    let lastOffset: Int64?
    let receivedUntil: Timestamp?
    let asKnownAt: Timestamp?
    let at: Timestamp?
    let entitlement: String?
    let rate: Int
    let limit: Int
    let maximumLineages: Int
    let asJSON: Bool
    let overwrites: Bool
    let settings: String?

    init(_ words: [String]) throws(UsageError) {
        let arguments = try CommandArguments(
            words,
            options: [
                "compare", "out", "against", "customer", "export", "app", "environment", "from", "to", "as-known-at",
                "at",
                "entitlement", "rate", "limit", "max-lineages", "settings",
            ], flags: ["apply", "yes", "json", "overwrite"])
        work = try Self.work(arguments)
        files = arguments.operands
        app = arguments.value("app").map { AppID($0) }
        environment = try arguments.value("environment").map { name throws(UsageError) in
            guard let environment = StoreEnvironment(rawValue: name) else {
                throw UsageError("--environment takes production or sandbox")
            }
            return environment
        }
        (start, receivedSince) = try Self.from(arguments.value("from"))
        let to = arguments.value("to")
        lastOffset = to.flatMap { Int64($0) }
        receivedUntil = lastOffset == nil ? try Self.time(to, "to") : nil
        asKnownAt = try Self.time(arguments.value("as-known-at"), "as-known-at")
        at = try Self.time(arguments.value("at"), "at")
        entitlement = arguments.value("entitlement")
        rate = try arguments.integer("rate", in: 1...1_000_000) ?? 2000
        limit = try arguments.integer("limit", in: 0...1_000_000) ?? 100
        maximumLineages = try arguments.integer("max-lineages", in: 1...1_000_000_000) ?? 2_000_000
        asJSON = arguments.has("json")
        overwrites = arguments.has("overwrite")
        settings = arguments.value("settings")
        try check(arguments)
    }

    private var isExport: Bool { if case .export = work { true } else { false } }

    private func check(_ arguments: CommandArguments) throws(UsageError) {
        if case .apply = work {
            guard arguments.has("yes") else {
                throw UsageError("--apply writes to the live Redis; add --yes if that is meant")
            }
        } else if arguments.has("yes") || arguments.value("rate") != nil {
            throw UsageError("--yes and --rate go with --apply")
        }
        if overwrites, !isExport { throw UsageError("--overwrite goes with --export") }
        if case .customer = work {
        } else if asKnownAt != nil || entitlement != nil {
            throw UsageError("--as-known-at and --entitlement go with --customer; --to TIME leaves out what came later")
        }
        if !files.isEmpty, arguments.value("from") != nil || lastOffset != nil {
            throw UsageError("--from and an offset as --to are places in the ledger, not in files")
        }
        if let until = asKnownAt, let other = receivedUntil, until != other {
            throw UsageError("--as-known-at and --to name different times")
        }
    }

    private static func work(_ arguments: CommandArguments) throws(UsageError) -> Work {
        var works: [(option: String, work: Work)] = []
        if let what = arguments.value("compare") {
            guard what == "live" else { throw UsageError("--compare takes live; for a file it is --against FILE") }
            works.append(("--compare", .compareLive))
        }
        if let path = arguments.value("out") { works.append(("--out", .out(path))) }
        if let path = arguments.value("against") { works.append(("--against", .against(path))) }
        if let customer = arguments.value("customer") { works.append(("--customer", .customer(customer))) }
        if arguments.has("apply") { works.append(("--apply", .apply)) }
        if let path = arguments.value("export") { works.append(("--export", .export(path))) }
        guard works.count <= 1 else {
            throw UsageError("one at a time: \(works.map(\.option).joined(separator: ", "))")
        }
        return works.first?.work ?? .compareLive
    }

    private static func from(_ text: String?) throws(UsageError) -> (LedgerStart, Timestamp?) {
        guard let text, text != "first" else { return (.first, nil) }
        if let offset = Int64(text), offset >= 0 { return (.offset(offset), nil) }
        guard let instant = Timestamp(rfc3339: text) else {
            throw UsageError("--from takes first, an offset, or a time such as 2026-11-30T12:00:00Z")
        }
        return (.time(instant), instant)
    }

    private static func time(_ text: String?, _ option: String) throws(UsageError) -> Timestamp? {
        guard let text else { return nil }
        guard let instant = Timestamp(rfc3339: text) else {
            throw UsageError("--\(option) takes a time such as 2026-11-30T12:00:00Z")
        }
        return instant
    }
}
