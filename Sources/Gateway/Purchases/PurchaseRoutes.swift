internal import AppStore
package import CacheTier
package import Entitlements
package import HTTP
package import Runtime
internal import Time

/// Takes in what a backend posts for one of its customers, for whoever holds a key with the scope `write`.
///
/// `POST /v1/apps/{app}/customers/{customer}/transactions?environment=production|sandbox&dryRun=true&force=true`, all three
/// optional. The body is `PostedPurchases`. With `dryRun` it says what would be decided and writes nothing. `force` goes
/// past the app's transfer policy and needs a key with the scope `admin`.
///
/// | answer | when |
/// |---|---|
/// | 200 | decided, durable; what was decided about each purchase, and what a read answers now |
/// | 202 | durable; some are `pending`: the store was away, and they are decided when it is back |
/// | 409 | durable, and every purchase belongs to somebody else who keeps it |
/// | 400, 422 | nothing was taken in: the body cannot be read, or something in it is not Apple's or not this app's |
/// | 503 | nothing is promised: post it again |
///
/// Posting the same again changes nothing. Whoever else has a purchase is never named.
package struct PurchaseRoutes: Sendable {
    private static let retryAfter = ["Retry-After": "5"]

    private let intake: PurchaseIntake
    private let judge: PurchaseJudge
    private let cache: EntitlementCache
    private let keys: BearerKeys
    private let apps: [AppID: PurchaseMetrics]
    private let bodyBytes: Int
    private let readLimit: Duration
    private let clock: WallClock
    private let log: Log

    /// `readLimit` is how long the entitlements in the answer may take; without them it is an answer all the same.
    package init(
        intake: PurchaseIntake, judge: @escaping PurchaseJudge, cache: EntitlementCache, keys: BearerKeys,
        apps: some Sequence<AppID>, bodyBytes: Int, readLimit: Duration, clock: WallClock = .system,
        metrics: Metrics, log: Log
    ) {
        self.intake = intake
        self.judge = judge
        self.cache = cache
        self.keys = keys
        self.apps = Dictionary(apps.map { ($0, PurchaseMetrics(metrics, app: $0)) }) { first, _ in first }
        self.bodyBytes = bodyBytes
        self.readLimit = readLimit
        self.clock = clock
        self.log = log
    }

    /// Who may not post need not send the body.
    package func admit(_ head: HTTPRequestHead, app: AppID) -> HTTPAdmission {
        switch authorize(head, app) {
        case .failure(let error): .refuse(error.problem.response(correlation: Correlation.id(of: head)))
        case .success: .body(limit: bodyBytes)
        }
    }

    package func respond(to request: HTTPRequest, app: AppID, customer: String, correlation: String) -> HTTPReply {
        do throws(ProblemError) {
            let key = try authorize(request.head, app).get()
            let parameters = try Self.parameters(request.head)
            let customer = try ReadParameters.checked(customer: customer)
            return .later {
                await answer(request.body, app, customer, parameters, key, correlation)
            }
        } catch {
            return .now(error.problem.response(correlation: correlation))
        }
    }

    private static func parameters(_ head: HTTPRequestHead) throws(ProblemError) -> ReadParameters {
        try ReadParameters(head, allowed: [.environment, .dryRun, .force])
    }

    private func authorize(_ head: HTTPRequestHead, _ app: AppID) -> Result<BearerKey, ProblemError> {
        // What is wrong with the parameters is said to those who may post.
        let isForced = (try? Self.parameters(head))?.isForced ?? false
        let key = keys.authorize(head, isForced ? .admin : .write, for: app)
        guard case .success = key, apps[app] == nil else { return key }
        return .failure(ProblemError(problem: Problem(.unknownApp, "No app of this name is set up here.")))
    }

    // MARK: The work

    private func answer(
        _ body: [UInt8], _ app: AppID, _ customer: String, _ parameters: ReadParameters, _ key: BearerKey,
        _ correlation: String
    ) async -> HTTPResponse {
        let started = ContinuousClock.now
        let log = log.with([
            "correlation": .init(correlation), "app": .init(app.rawValue), "key": .init(key.name),
        ])
        let purchases: VerifiedPurchases
        let posted: PostedPurchases
        do throws(ProblemError) {
            posted = try read(body, app, log)
            purchases = try await verify(posted, app, parameters.namedEnvironment, log)
        } catch {
            return error.problem.response(correlation: correlation)
        }
        let request = PurchaseIntake.Request(
            key: CustomerKey(app: app, environment: purchases.environment, customer: customer), posted: posted,
            isForced: parameters.isForced, correlation: correlation)
        if parameters.isDryRun { return await foresee(purchases, request) }

        let (outcome, place) = await intake.receive(purchases, request)
        guard case .stored(let receipt) = outcome, let place else {
            apps[app]?.unstored.increment()
            log.error("purchases could not be stored anywhere")
            return Problem(
                .cannotStore, "Neither the broker nor the spool can keep it. Post it again later.",
                headers: Self.retryAfter
            ).response(correlation: correlation)
        }
        let answer = PurchaseAnswer(
            key: request.key, receivedAt: receipt.receivedAt,
            items: receipt.lineages.map { lineage in
                PurchaseAnswer.Item(
                    lineage, receipt.decisions[lineage.id.originalTransactionID]?.decision)
            })
        for item in answer.items { apps[app]?.decided(item.decision, reason: item.refusal) }
        log.info(
            "purchases taken in",
            [
                "stored": .init(place.rawValue), "environment": .init(purchases.environment.rawValue),
                "decisions": .init(answer.summary), "forced": .init(request.isForced),
            ])
        defer { apps[app]?.stored(place, after: .now - started) }
        if answer.status == 409 {
            return answer.refusal(
                note: cache.note(ofReadAt: started, app: app, environment: request.key.environment),
                correlation: correlation)
        }
        let read = await read(request.key, since: receipt.revision, log)
        return answer.response(
            read: read, silence: read == nil ? cache.silence(about: request.key) : nil, serverTime: clock.now(),
            correlation: correlation)
    }

    /// What a read would say, as new as what was just written; nil when nobody can say in time.
    private func read(_ key: CustomerKey, since revision: UInt64, _ log: Log) async -> Answer? {
        let answer = await Patience.wait(readLimit) { [cache, clock] () -> Answer? in
            do throws(ReadFailure) {
                return try await cache.load(key, at: clock.now(), changedTo: revision)
            } catch {
                log.warning("purchases are taken in, but the customer cannot be read", ["error": .init(error)])
                return nil
            }
        }
        return answer ?? nil
    }

    private func foresee(_ purchases: VerifiedPurchases, _ request: PurchaseIntake.Request) async -> HTTPResponse {
        let started = ContinuousClock.now
        guard let decisions = await intake.foresee(purchases, request) else {
            return Problem(
                .storeUnreachable, "What would be decided is not known at this moment. Ask again.",
                headers: Self.retryAfter
            ).response(correlation: request.correlation)
        }
        let items = purchases.lineages.map { PurchaseAnswer.Item($0, decisions[$0.id.originalTransactionID]) }
        return PurchaseAnswer(key: request.key, receivedAt: clock.now(), items: items, isDryRun: true)
            .response(
                read: nil,
                note: cache.note(
                    ofReadAt: started, app: request.key.app, environment: request.key.environment),
                serverTime: clock.now(), correlation: request.correlation)
    }

    private func read(_ body: [UInt8], _ app: AppID, _ log: Log) throws(ProblemError) -> PostedPurchases {
        do { return try PostedPurchases(json: body) } catch {
            apps[app]?.rejected("malformed")
            log.warning("posted purchases cannot be read", ["reason": .init(error.sentence)])
            throw ProblemError(problem: Problem(.malformedRequest, error.sentence, field: error.field))
        }
    }

    private func verify(
        _ posted: PostedPurchases, _ app: AppID, _ environment: StoreEnvironment?, _ log: Log
    ) async throws(ProblemError) -> VerifiedPurchases {
        do { return try await judge(posted, app, environment, clock.now()) } catch {
            let failure = error.failure
            apps[app]?.rejected(failure.code.rawValue)
            log.warning(
                "posted purchases are not accepted",
                [
                    "reason": .init(failure.code.rawValue), "place": .init(error.place),
                    "detail": .init(failure.sentence),
                ])
            guard !failure.isRetryable else {
                throw ProblemError(
                    problem: Problem(
                        .busy, failure.sentence, field: "\(error.place)", code: failure.code.rawValue,
                        headers: Self.retryAfter))
            }
            let remedy =
                failure.code == .wrongEnvironment
                ? " Post the purchases of one environment at a time, with its ?environment= or with none." : ""
            throw ProblemError(
                problem: Problem(
                    .refusedTransaction, failure.sentence + "." + remedy + " Nothing of the request was taken in.",
                    field: "\(error.place)", code: failure.code.rawValue))
        }
    }
}
