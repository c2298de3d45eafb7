import AppStore
import Broker
import CacheTier
import Entitlements
import Gateway
import JSON
import Runtime
import Time

/// `holdfast claim`: gives a purchase to a customer, as a backend does that posts it.
enum ClaimCommand {
    static let summary = "gives a purchase to a customer, if the app's policy lets it"
    static let help = """
        usage: holdfast claim CUSTOMER ORIGINAL_TRANSACTION_ID [OPTIONS]
               holdfast claim CUSTOMER FILE [OPTIONS]

        Gives the customer a purchase that is known, by its original transaction id, or one that a signed transaction in
        FILE is about (a bare JWS; - is standard input). By the app's policy (apps.<id>.transfers.policy) it may have to
        stay with whoever has it: see holdfast unclaimed and holdfast history.

        Decided and written in Redis, and published to RabbitMQ, so that the ledger has it and others are told. What
        RabbitMQ did not take can be done again: it changes nothing else.

          --dry-run           say what would be decided, and write nothing
          --force             go past the policy and its limits
          --app ID            the app, if the settings have several
          --environment NAME  production (default) or sandbox
          --json              answer as JSON
          --settings FILE     the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Exit codes: 0 the customer has it, 1 refused or not known, 2 usage, 3 Redis or RabbitMQ is unreachable.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: StoreSession.options, flags: ["dry-run", "force", "json"])
        guard arguments.operands.count == 2 else {
            throw UsageError("claim takes a customer and an original transaction id or a file")
        }
        if let mistake = CustomerID.mistake(in: arguments.operands[0]) { throw UsageError(mistake) }
        let isDryRun = arguments.has("dry-run")
        let isForced = arguments.has("force")
        return try await StoreSession.with("claim", arguments) { session in
            let now = WallClock.system.now()
            guard let purchase = try await purchase(arguments.operands[1], session, now) else { return 1 }
            let customer = CustomerKey(
                app: session.app.id, environment: session.environment, customer: arguments.operands[0]
            ).customer
            let decision = try await decide(
                purchase, for: customer, session, at: now, isForced: isForced, isDryRun: isDryRun)
            let decided = ClaimVerdict(decision.decision)
            print(arguments.has("json") ? decided.json(purchase.id, isDryRun) : decided.text(purchase.id, isDryRun))
            guard !isDryRun else { return decided.isRefused ? 1 : 0 }
            try await publish(
                PurchaseMessage(
                    customer: customer, environment: session.environment, receivedAt: now, isForced: isForced,
                    posted: purchase.posted, decisions: [decision.message(about: purchase.id)]),
                session)
            return decided.isRefused ? 1 : 0
        }
    }

    /// What is to be claimed.
    private enum Purchase {
        /// Known to the store, with its newest transaction.
        case known(LineageID, transactionID: String)
        case posted(VerifiedPurchases.Lineage, PostedPurchases)

        var id: LineageID {
            switch self {
            case .known(let id, _): id
            case .posted(let lineage, _): lineage.id
            }
        }

        var posted: PostedPurchases {
            switch self {
            case .known: .nothing
            case .posted(_, let posted): posted
            }
        }
    }

    /// Digits are an id, anything else a file. Nil after saying why there is none.
    private static func purchase(
        _ operand: String, _ session: StoreSession, _ now: Timestamp
    ) async throws -> Purchase? {
        if operand.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            let id = LineageID(
                app: session.app.id, environment: session.environment, originalTransactionID: operand)
            guard let transaction = try await session.store.find(id)?.record.transactions.last else {
                Console.error(
                    "nothing is known of \(operand) in \(session.environment.rawValue); give a file with one of its signed "
                        + "transactions")
                return nil
            }
            return .known(id, transactionID: transaction.transactionID)
        }
        let bytes: [UInt8]
        do {
            bytes = try operand == "-" ? File.standardInput(limit: 1 << 20) : File.bytes(at: operand, limit: 1 << 20)
        } catch { throw UsageError("\(error)") }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        do {
            let posted = try PostedPurchases(signedTransactions: [text])
            let verified = try PurchaseVerifier(session.settings.appStore.verifier()).verify(
                posted, for: session.app.identity, app: session.app.id, environment: session.environment, now: now)
            return verified.lineages.first.map { .posted($0, posted) }
        } catch let failure as PurchaseFailure {
            Console.error("\(Console.printable(operand)): \(failure.failure)")
            return nil
        } catch let mistake as PostedPurchases.Mistake {
            Console.error("\(Console.printable(operand)): \(mistake.sentence)")
            return nil
        }
    }

    private static func decide(
        _ purchase: Purchase, for customer: String, _ session: StoreSession, at now: Timestamp, isForced: Bool,
        isDryRun: Bool
    ) async throws -> PurchaseDecision {
        switch (purchase, isDryRun) {
        case (.posted(let lineage, _), false):
            return try await session.store.takeIn(lineage, for: customer, at: now, isForced: isForced)
        case (.posted(let lineage, _), true):
            return PurchaseDecision(
                decision: try await session.store.foresee(lineage, for: customer, at: now, isForced: isForced))
        case (.known(let id, let transactionID), _):
            return try await session.store.decide(
                customer, id, transactionID: transactionID, at: now, isForced: isForced, dryRun: isDryRun)
        }
    }

    private static func publish(_ message: PurchaseMessage, _ session: StoreSession) async throws {
        let publisher = try BrokerPublisher(
            settings: session.settings.broker, metrics: Metrics(), log: Log(part: "claim", minimum: .error))
        let result: Result<Void, any Error>
        do {
            try await publisher.start()
            let sink = BrokerSink(publisher, names: session.settings.broker.names)
            try await sink.store(
                IntakeMessage(purchases: message, app: session.app.id, correlation: Correlation.make()))
            result = .success(())
        } catch {
            Console.error("it is written in Redis, but not in the ledger, and nobody is told: run this again")
            result = .failure(error)
        }
        await publisher.drain()
        try result.get()
    }
}

/// A decision in words.
struct ClaimVerdict {
    let word: String
    let refusal: ClaimRefusal?
    let from: [String]

    var isRefused: Bool { refusal != nil }

    init(_ decision: ClaimDecision) {
        switch decision {
        case .accepted(_, let others): (word, refusal, from) = ("claimed", nil, others)
        case .alreadyTheirs: (word, refusal, from) = ("alreadyTheirs", nil, [])
        case .refused(let reason): (word, refusal, from) = ("refused", reason, [])
        }
    }

    func text(_ lineage: LineageID, _ isDryRun: Bool) -> String {
        let id = Console.printable(lineage.originalTransactionID)
        let others = from.map { Console.printable($0) }.joined(separator: " and ")
        if let refusal { return "\(id) is refused: \(refusal.sentence)" }
        if word == "alreadyTheirs" { return "\(id) is the customer's already." }
        let came = from.isEmpty ? "Nobody had it." : "It was \(others)'s."
        return "\(id) \(isDryRun ? "would be" : "is") the customer's. \(came)"
    }

    func json(_ lineage: LineageID, _ isDryRun: Bool) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("originalTransactionId", lineage.originalTransactionID)
        json.member("environment", lineage.environment.rawValue)
        json.member("decision", word)
        json.member("reason", refusal?.rawValue)
        json.member("detail", refusal?.sentence)
        json.array("from", from) { json, customer in json.string(customer) }
        json.member("dryRun", isDryRun)
        json.endObject()
        return json.text
    }
}
