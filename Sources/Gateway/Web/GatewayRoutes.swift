internal import Entitlements
package import HTTP

/// The table of what the gateway answers:
///
/// | method | path | answer |
/// |---|---|---|
/// | POST | `/apple/{app}/production`, `/apple/{app}/sandbox` | takes in a notification |
/// | GET | `/v1/apps/{app}/customers/{customer}/entitlements` | what a customer has |
/// | GET | `/v1/apps/{app}/customers/{customer}/explanation` | why a customer has or lacks it |
/// | POST | `/v1/apps/{app}/customers/{customer}/transactions` | takes in what a backend posts for a customer |
/// | GET | `/v1/apps/{app}/unclaimed` | purchases that nobody has |
/// | GET | `/v1/apps/{app}/lineages/{id}`, `/v1/apps/{app}/lineages/{id}/history` | who has a purchase, and its history |
package struct GatewayRoutes: HTTPHandler {
    enum Route: Hashable {
        case intake(AppID, StoreEnvironment)
        case entitlements(AppID, customer: String)
        case explanation(AppID, customer: String)
        case purchases(AppID, customer: String)
        case lineages(AppID, LineageRoutes.Question)

        var method: String {
            switch self {
            case .intake, .purchases: "POST"
            case .entitlements, .explanation, .lineages: "GET"
            }
        }
    }

    private let intake: NotificationIntake
    private let reads: EntitlementRoutes
    private let explanations: ExplanationRoutes
    private let purchases: PurchaseRoutes
    private let lineages: LineageRoutes
    private let intakeBodyBytes: Int

    package init(
        intake: NotificationIntake, reads: EntitlementRoutes, explanations: ExplanationRoutes,
        purchases: PurchaseRoutes, lineages: LineageRoutes, intakeBodyBytes: Int = 256 << 10
    ) {
        self.intake = intake
        self.reads = reads
        self.explanations = explanations
        self.purchases = purchases
        self.lineages = lineages
        self.intakeBodyBytes = intakeBodyBytes
    }

    /// Refuses by the head what needs no body to be refused.
    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission? {
        switch Self.route(head) {
        case .failure(let error):
            return .refuse(error.problem.response(correlation: Correlation.id(of: head)))
        case .success(.intake(let app, _)):
            guard intake.knows(app) else {
                return .refuse(
                    Problem(.unknownApp, "No app of this name is set up here.")
                        .response(correlation: Correlation.id(of: head)))
            }
            return .body(limit: intakeBodyBytes)
        case .success(.purchases(let app, _)): return purchases.admit(head, app: app)
        case .success(.entitlements), .success(.explanation), .success(.lineages):
            // A GET has no use for a body.
            return .body(limit: 0)
        }
    }

    package func respond(to request: HTTPRequest) -> HTTPReply {
        let correlation = Correlation.id(of: request.head)
        switch Self.route(request.head) {
        case .failure(let error): return .now(error.problem.response(correlation: correlation))
        case .success(.intake(let app, let environment)):
            return .later { [intake] in
                await intake.receive(
                    request.body, app: app, environment: environment, correlation: correlation, peer: request.peer)
            }
        case .success(.entitlements(let app, let customer)):
            return reads.respond(to: request.head, app: app, customer: customer, correlation: correlation)
        case .success(.explanation(let app, let customer)):
            return explanations.respond(to: request.head, app: app, customer: customer, correlation: correlation)
        case .success(.purchases(let app, let customer)):
            return purchases.respond(to: request, app: app, customer: customer, correlation: correlation)
        case .success(.lineages(let app, let question)):
            return lineages.respond(to: request.head, app: app, question, correlation: correlation)
        }
    }

    static func route(_ head: HTTPRequestHead) -> Result<Route, ProblemError> {
        guard let segments = head.segments else {
            return .failure(ProblemError(problem: Problem(.badPath, "A part of the path is not UTF-8.")))
        }
        guard let route = route(segments) else {
            return .failure(ProblemError(problem: Problem(.notFound, "There is nothing at this path.")))
        }
        guard head.method == route.method else {
            let problem = Problem(
                .methodNotAllowed, "Only \(route.method) is allowed here.", headers: ["Allow": route.method])
            return .failure(ProblemError(problem: problem))
        }
        return .success(route)
    }

    private static func route(_ segments: [String]) -> Route? {
        switch segments.first {
        case "apple" where segments.count == 3:
            StoreEnvironment(rawValue: segments[2]).map { .intake(AppID(segments[1]), $0) }
        case "v1" where segments.count == 6 && segments[1] == "apps" && segments[3] == "customers":
            customerRoute(segments[5], AppID(segments[2]), customer: segments[4])
        case "v1" where segments.count >= 4 && segments[1] == "apps":
            lineageRoute(segments[3...]).map { .lineages(AppID(segments[2]), $0) }
        default: nil
        }
    }

    private static func customerRoute(_ name: String, _ app: AppID, customer: String) -> Route? {
        switch name {
        case "entitlements": .entitlements(app, customer: customer)
        case "explanation": .explanation(app, customer: customer)
        case "transactions": .purchases(app, customer: customer)
        default: nil
        }
    }

    private static func lineageRoute(_ rest: ArraySlice<String>) -> LineageRoutes.Question? {
        let rest = Array(rest)
        if rest == ["unclaimed"] { return .unclaimed }
        guard rest[0] == "lineages", rest.count >= 2, !rest[1].isEmpty, rest[1].utf8.count <= 256 else { return nil }
        switch rest.dropFirst(2) {
        case []: return .lineage(rest[1])
        case ["history"]: return .history(rest[1])
        default: return nil
        }
    }
}
