import AppStore
import Entitlements
import JSON
import Runtime
import Time

/// `holdfast api …`: every endpoint of the App Store Server API from a terminal.
enum APICommand {
    static let summary = "asks the App Store Server API: any endpoint, signed parts verified and decoded"
    static let help = """
        usage: holdfast api NAME [VALUE…] [--PARAMETER VALUE…] [OPTIONS]
               holdfast api find TRANSACTION_ID [OPTIONS]
               holdfast api --list [--json]

        Calls one endpoint of the App Store Server API with the app's own key (apps.<name>.serverAPI.* in the settings).
        The values of its path stand in order, its other parameters as options by Apple's names; a list is given by
        repeating one. Dates are milliseconds since 1970 or like 2026-11-30T02:14:38Z. --list shows all endpoints.
        find says in which environment a transaction is.

          holdfast api statuses 2000000123456789
          holdfast api history 2000000123456789 --productType AUTO_RENEWABLE --sort DESCENDING
          holdfast api notifications --startDate 2026-11-01T00:00:00Z --endDate 2026-11-30T00:00:00Z --onlyFailures true
          holdfast api extend 2000000123456789 --extendByDays 30 --extendReasonCode 1 --requestIdentifier outage-7

          --app NAME       the app in the settings; needed when there are several
          --sandbox        the sandbox; same as --environment sandbox. Default: production
          --environment E  production or sandbox
          --json           Apple's answer as it came; of a list, one page a line
          --decode         with --json: {"answer":…,"signed":[…]}, each signed part verified and decoded
          --pages N        of a list, read so many pages at most
          --resume TEXT    of a list, go on at a position that was shown before; no other values then
          --settings FILE  the settings, JSON with // comments (default HOLDFAST_SETTINGS); see holdfast settings

        Calls count in the same budget as those of running gateways and consumers, through Redis, and go first. Without
        Redis they keep to this process's own part of Apple's limits.

        What is signed in an answer is verified, and an answer must be for this app and environment: what is not is
        said on standard error.

        Exit codes: 0 fine, 1 Apple refused it, or something in its answer is not to be trusted, 2 usage or settings,
        3 Apple or the way to it fails: try again later.
        """

    private static let common: Set<String> = ["app", "environment", "settings", "pages", "resume"]

    private static let parameters = Set(
        ServerAPIEndpoint.allCases.flatMap { $0.fields.filter { $0.place != .path }.map(\.name) })

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: common.union(parameters), flags: ["sandbox", "json", "decode", "list"])
        if arguments.has("list") {
            print(arguments.has("json") ? APIListing.json : APIListing.text)
            return 0
        }
        guard let name = arguments.operands.first else { throw UsageError("name an endpoint; --list shows them all") }
        if arguments.has("decode"), !arguments.has("json") {
            throw UsageError("--decode goes with --json; without it signed parts are decoded anyway")
        }
        if name == "find" { return try await find(arguments) }
        guard let endpoint = ServerAPIEndpoint(rawValue: name) else {
            let nearest = NearestName.to(name, among: ServerAPIEndpoint.allCases.map(\.name) + ["find"])
            throw UsageError("there is no endpoint \(name)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
        }
        // All that can be wrong with what was typed is said before anything is connected to.
        let start = try start(endpoint, arguments)
        let mostPages = try arguments.integer("pages", in: 1...Int.max) ?? .max
        return try await APISession.with(arguments, environment: try environment(arguments)) { session in
            try await call(start, mostPages, session)
        }
    }

    /// A call from its beginning, or a list from where it was left.
    private enum Start {
        case call(ServerAPIRequest)
        case position(PagePosition)
    }

    private static func call(_ start: Start, _ mostPages: Int, _ session: APISession) async throws -> Int32 {
        do throws(ServerAPIFailure) {
            let position: PagePosition
            switch start {
            case .position(let left): position = left
            case .call(let request) where request.endpoint.pageKey != nil:
                position = try session.client.start(of: request)
            case .call(let request):
                let answer = try await session.client.answer(to: request, .support)
                return session.show(answer.body, of: request.endpoint) ? 0 : 1
            }
            let lister = APILister(session: session, mostPages: mostPages)
            let isFine =
                switch position.endpoint {
                case .history, .historyV1: try await lister.read(position, as: HistoryResponse.self)
                case .refunds: try await lister.read(position, as: RefundHistoryResponse.self)
                case .groupMembers: try await lister.read(position, as: GroupMembersResponse.self)
                default: try await lister.read(position, as: NotificationHistoryResponse.self)
                }
            return isFine ? 0 : 1
        } catch {
            return session.report(error)
        }
    }

    private static func find(_ arguments: CommandArguments) async throws -> Int32 {
        guard arguments.operands.count == 2 else { throw UsageError("find takes one transaction id") }
        let given =
            ["environment", "pages", "resume"].filter { arguments.value($0) != nil }
            + parameters.filter { !arguments.values($0).isEmpty } + ["sandbox", "decode"].filter(arguments.has)
        if let option = given.first {
            throw UsageError("find asks both environments for one transaction, and takes no --\(option)")
        }
        return try await APISession.with(arguments, environment: .production) { session in
            let finder = EnvironmentFinder(production: session.client, sandbox: session.client(for: .sandbox))
            do throws(ServerAPIFailure) {
                let id = arguments.operands[1]
                let found = try await finder.find(id, .support)
                let report = session.report(on: found.response.signedTransactionInfo, from: found.environment)
                if arguments.has("json") {
                    var json = JSONWriter()
                    json.beginObject()
                    json.member("environment", found.environment.rawValue)
                    json.endObject()
                    Console.line(json.text)
                } else {
                    let product =
                        report.parts.first?.payload?["productId"]?.string.map { ", of the product \($0)" } ?? ""
                    let place = found.environment == .production ? "production" : "the sandbox"
                    Console.line("The transaction \(id) is in \(place)\(product).".printable())
                }
                return session.complain(about: report, at: "signedTransactionInfo") ? 1 : 0
            } catch {
                return session.report(error, isLost: true)
            }
        }
    }

    // MARK: Arguments

    private static func values(
        _ endpoint: ServerAPIEndpoint, _ arguments: CommandArguments
    ) throws(ServerAPIFailure) -> [ServerAPIRequest.Value] {
        let inPath = endpoint.fields.filter { $0.place == .path }
        let given = arguments.operands.dropFirst()
        guard given.count == inPath.count else {
            let names = inPath.map(\.name).joined(separator: " ")
            throw ServerAPIFailure(
                .invalidRequest, endpoint,
                names.isEmpty
                    ? "takes no values, only options"
                    : "takes \(names)\(inPath.count > 1 ? " in this order" : ""), not \(given.count) values")
        }
        var values = zip(inPath, given).map { ServerAPIRequest.Value($0.name, $1) }
        for name in parameters.sorted() {
            values += arguments.values(name).map { ServerAPIRequest.Value(name, $0) }
        }
        return values
    }

    private static func start(
        _ endpoint: ServerAPIEndpoint, _ arguments: CommandArguments
    ) throws(UsageError) -> Start {
        if endpoint.pageKey == nil, let option = ["pages", "resume"].first(where: { arguments.value($0) != nil }) {
            throw UsageError("--\(option) goes with lists only")
        }
        do throws(ServerAPIFailure) {
            guard let text = arguments.value("resume") else {
                return .call(try ServerAPIRequest(endpoint, values(endpoint, arguments)))
            }
            guard arguments.operands.count == 1, parameters.allSatisfy({ arguments.values($0).isEmpty }) else {
                throw ServerAPIFailure(.invalidRequest, endpoint, "--resume has all values already; give no others")
            }
            let position = try PagePosition(text: text)
            guard position.endpoint == endpoint else {
                throw ServerAPIFailure(.invalidRequest, endpoint, "the position is one of \(position.endpoint.name)")
            }
            return .position(position)
        } catch {
            throw UsageError(error.description)
        }
    }

    private static func environment(_ arguments: CommandArguments) throws(UsageError) -> StoreEnvironment {
        guard let name = arguments.value("environment") else {
            return arguments.has("sandbox") ? .sandbox : .production
        }
        guard let environment = StoreEnvironment(rawValue: name.lowercased()) else {
            throw UsageError("--environment is production or sandbox")
        }
        guard environment == .sandbox || !arguments.has("sandbox") else {
            throw UsageError("--sandbox and --environment \(name) contradict each other")
        }
        return environment
    }
}
