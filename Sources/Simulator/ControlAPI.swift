internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// The API that drives the simulator: JSON in and out, from this machine only.
extension Simulator {
    nonisolated func controlResponse(to request: HTTPRequest, _ path: [String]) async -> HTTPResponse {
        do throws(ControlProblem) {
            guard request.peer == "::1" || request.peer.hasPrefix("127.") || request.peer.hasPrefix("::ffff:127.")
            else {
                throw ControlProblem(status: 403, code: "not-local", "the control API answers this machine only")
            }
            return try await control(request, path)
        } catch {
            return error.response
        }
    }

    private nonisolated func control(_ request: HTTPRequest, _ path: [String]) async throws(ControlProblem)
        -> HTTPResponse
    {
        switch (request.method, path.first ?? "", path.count) {
        case ("GET", "", _): return await overview()
        case ("GET", "root.pem", 1):
            return HTTPResponse(
                contentType: "application/x-pem-file", body: Array(identity.authority.rootPEM.utf8))
        case ("GET", "products", 1): return products()
        case ("POST", "accounts", 1):
            var body = try ControlBody(request.body)
            let token = try body.string("account")
            try body.finish()
            return try await created(token)
        case ("GET", "accounts", 1): return await accountList()
        case ("GET", "accounts", 2): return try await accountPage(path[1])
        case ("POST", "accounts", 3):
            var body = try ControlBody(request.body)
            let command = try StoreCommand(path[2], &body)
            try body.finish()
            return try await performed(command, for: path[1])
        case ("GET", "truth", 1): return await truthList(request.head.queryValue("account"))
        case ("GET", "events", 1): return try await eventList(request.head)
        case ("GET", "notifications", 1): return try await notificationList(request.head)
        case ("POST", "test-notification", 1): return await testRequested()
        case ("POST", "external-purchase-token", 1): return try await externalPurchaseToken(request)
        case ("POST", "burst", 1): return try await burstResponse(request)
        case ("GET", "calls", 1): return await callList(withAccounts: request.head.queryValue("accounts") == "true")
        case ("GET", "behaviour", 1): return await behaviourResponse()
        case ("PUT", "behaviour", 1): return try await behaviourChanged(request)
        default:
            throw ControlProblem(
                status: 404, code: "not-found", field: "path", "no such thing; GET /control tells what there is")
        }
    }

    // MARK: Accounts

    private func created(_ token: String?) throws(ControlProblem) -> HTTPResponse {
        let account: String
        do { account = try createAccount(token) } catch { throw ControlProblem(error) }
        return object(status: 201) { $0.member("account", account) }
    }

    private func performed(_ command: StoreCommand, for account: String) throws(ControlProblem) -> HTTPResponse {
        let before = events.lastSequence
        do { _ = try perform(command, for: account) } catch { throw ControlProblem(error) }
        let happened = events.events(after: before, limit: 1000).filter { $0.account == account.lowercased() }
        let truth = truth(of: account)
        return object { json in
            json.array("events", happened) { $1.write(to: &$0) }
            json.array("truth", truth) { $1.write(to: &$0) }
        }
    }

    private func accountList() -> HTTPResponse {
        object { json in
            json.member("count", store.accountTokens.count)
            json.array("accounts", store.accountTokens.suffix(1000)) { $0.string($1) }
        }
    }

    private func accountPage(_ token: String) throws(ControlProblem) -> HTTPResponse {
        let account: Store.Account
        do { account = try store.account(token) } catch { throw ControlProblem(error) }
        let truth = truth(of: account.token)
        return object { json in
            json.member("account", account.token)
            json.member("appTransactionId", account.appTransactionID)
            json.member("paymentFails", account.paymentFails)
            json.array("truth", truth) { $1.write(to: &$0) }
            json.array("transactions", store.transactions(of: account.token)) { json, transaction in
                json.beginObject()
                json.member("transactionId", transaction.id)
                json.member("originalTransactionId", transaction.originalID)
                json.member("productId", transaction.product.id)
                json.member("purchaseDate", transaction.purchaseDate.rfc3339)
                json.member("expiresDate", transaction.expiresDate?.rfc3339)
                json.member("revocationDate", transaction.revocation?.date.rfc3339)
                json.member("isUpgraded", transaction.isUpgraded)
                json.member("isFinished", transaction.isFinished)
                json.member("appAccountToken", transaction.accountToken)
                json.member("orderId", store.orderID(of: transaction))
                json.array("consumption", store.consumption[transaction.id] ?? []) { $1.write(to: &$0) }
                json.endObject()
            }
        }
    }

    private func truthList(_ account: String?) -> HTTPResponse {
        let now = tick()
        let truth = store.truth(of: account, at: now)
        return object { json in
            json.member("time", now.rfc3339)
            json.array("truth", truth) { $1.write(to: &$0) }
        }
    }

    // MARK: What happened

    private nonisolated func eventList(_ head: HTTPRequestHead) async throws(ControlProblem) -> HTTPResponse {
        let after = try number(head, "after", in: 0...Int.max, default: 0)
        let limit = try number(head, "limit", in: 1...10_000, default: 1000)
        let wait = try number(head, "wait", in: 0...60, default: 0)
        let withTruth = head.queryValue("truth") == "true"
        // All that happened until then is among them, unless there are `limit`.
        let asked = clock.now()
        let found = await events(after: UInt64(after), limit: limit, wait: .seconds(wait))
        return object { json in
            json.member("time", asked.rfc3339)
            json.array("events", found) { $1.write(to: &$0, withTruth: withTruth) }
            json.member("last", found.last?.sequence ?? UInt64(after))
        }
    }

    private nonisolated func notificationList(_ head: HTTPRequestHead) async throws(ControlProblem) -> HTTPResponse {
        let after = try number(head, "after", in: 0...Int.max, default: 0)
        let limit = try number(head, "limit", in: 1...100_000, default: 1000)
        let entries = await deliveries(after: UInt64(after), limit: limit)
        return object { json in
            json.array("notifications", entries) { json, entry in
                json.beginObject()
                json.member("sequence", entry.sequence)
                json.member("notificationUUID", entry.notification.uuid)
                json.member("notificationType", entry.notification.type)
                json.member("subtype", entry.notification.subtype)
                json.member("account", entry.notification.account)
                json.member("originalTransactionId", entry.notification.transaction?.originalID)
                json.member("signedDate", entry.notification.signedDate.rfc3339)
                json.member("state", entry.state.rawValue)
                json.member("nextTry", entry.nextTry?.rfc3339)
                json.array("attempts", entry.attempts) { json, attempt in
                    json.beginObject()
                    json.member("time", attempt.time.rfc3339)
                    json.member("result", attempt.result.rawValue)
                    json.endObject()
                }
                json.endObject()
            }
            json.member("last", entries.last?.sequence ?? UInt64(after))
        }
    }

    private func testRequested() -> HTTPResponse {
        let (token, uuid) = requestTestNotification()
        return object(status: 201) { json in
            json.member("testNotificationToken", token)
            json.member("notificationUUID", uuid)
        }
    }

    private func externalPurchaseToken(_ request: HTTPRequest) throws(ControlProblem) -> HTTPResponse {
        var body = try ControlBody(request.body)
        let subtype = try body.string("subtype") ?? "UNREPORTED"
        guard ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"].contains(subtype) else {
            throw ControlProblem(field: "subtype", "UNREPORTED, CREATED or ACTIVE_TOKEN_REMINDER")
        }
        var type: ExternalPurchaseToken.TokenType?
        if let name = try body.string("tokenType") {
            guard let known = ExternalPurchaseToken.TokenType(rawValue: name) else {
                throw ControlProblem(field: "tokenType", "ACQUISITION or SERVICES")
            }
            type = known
        }
        try body.finish()
        let event = sendExternalPurchaseToken(subtype, type: type)
        return object(status: 201) { $0.member("notificationUUID", event.notification?.uuid) }
    }

    // MARK: Burst and behaviour

    private nonisolated func burstResponse(_ request: HTTPRequest) async throws(ControlProblem) -> HTTPResponse {
        var body = try ControlBody(request.body)
        guard let count = try body.integer("count", in: 1...100_000) else {
            throw ControlProblem(field: "count", "count is missing")
        }
        let connections = try body.integer("connections", in: 1...SimulatorSettings.maximumConnections) ?? 64
        let productID = try body.string("productId") ?? settings.catalog.productIDs.first ?? ""
        let seconds = try body.integer("deadlineSeconds", in: 1...3600) ?? 300
        try body.finish()
        let result: BurstResult
        do throws(BurstError) {
            result = try await burst(count, productID: productID, connections: connections, deadline: .seconds(seconds))
        } catch {
            switch error {
            case .refused(let error): throw ControlProblem(error)
            case .underWay: throw ControlProblem(status: 409, code: "burst-under-way", "another burst is under way")
            case .noURL: throw ControlProblem(status: 409, code: "no-url", "there is no notification URL")
            }
        }
        var json = JSONWriter(reservingCapacity: 64 << 10)
        result.write(to: &json)
        return .json(json.bytes)
    }

    private func callList(withAccounts: Bool) -> HTTPResponse {
        let now = clock.now()
        return object { json in
            json.member("time", now.rfc3339)
            calls.write(to: &json, withAccounts: withAccounts)
        }
    }

    private func behaviourResponse() -> HTTPResponse {
        object { json in
            sendingBehaviour.write(to: &json)
            apiBehaviour.write(to: &json)
        }
    }

    /// Members that are left out stay as they are; `{"reset": true}` makes all well first.
    private func behaviourChanged(_ request: HTTPRequest) throws(ControlProblem) -> HTTPResponse {
        var body = try ControlBody(request.body)
        let reset = try body.bool("reset") ?? false
        var sending = reset ? SendingBehaviour() : sendingBehaviour
        var api = reset ? APIBehaviour() : apiBehaviour
        if var part = try body.object("sending") {
            try sending.read(&part)
            try part.finish()
        }
        if var part = try body.object("api") {
            try api.read(&part, now: clock.now())
            try part.finish()
        }
        try body.finish()
        setBehaviour(sending: sending, api: api)
        return behaviourResponse()
    }

    // MARK: What there is

    private func overview() -> HTTPResponse {
        let now = tick()
        return object { json in
            json.member("time", now.rfc3339)
            json.member("environment", settings.store.environment.rawValue)
            json.member("bundleId", settings.store.bundleID)
            json.member("appAppleId", settings.store.appAppleID)
            json.key("speed")
            json.number(settings.store.speed)
            json.member("notificationURL", settings.notificationURL)
            json.member("keyId", identity.keyID)
            json.member("issuerId", identity.issuerID)
            json.member("accounts", store.accountTokens.count)
            json.member("transactions", store.transactions.count)
            json.object("notifications") { json in
                for state in [Outbox.State.waiting, .delivered, .failed, .lost] {
                    json.member(state.rawValue, outbox.count(of: state))
                }
            }
            json.array("commands", StoreCommand.names) { $0.string("POST /control/accounts/{account}/\($1)") }
            json.array("serverAPI", ServerAPIRoute.table) { $0.string("\($1.method) \($1.path)") }
            json.array(
                "routes",
                [
                    "GET /control/root.pem", "GET /control/products", "POST /control/accounts", "GET /control/accounts",
                    "GET /control/accounts/{account}", "GET /control/truth?account=",
                    "GET /control/events?after=&limit=&wait=&truth=", "GET /control/notifications?after=&limit=",
                    "POST /control/test-notification", "POST /control/external-purchase-token", "POST /control/burst",
                    "GET /control/calls?accounts=", "GET /control/behaviour",
                    "PUT /control/behaviour",
                ]
            ) { $0.string($1) }
        }
    }

    private nonisolated func products() -> HTTPResponse {
        object { json in
            json.array("products", settings.catalog.productIDs.compactMap { settings.catalog.products[$0] }) {
                json, product in
                json.beginObject()
                json.member("productId", product.id)
                json.member("type", product.appleType)
                if let group = product.group { json.member("subscriptionGroupIdentifier", group) }
                if let level = product.level { json.member("level", level) }
                if let period = product.period { json.member("period", period.description) }
                json.member("price", product.price)
                json.member("familyShareable", product.isFamilyShareable)
                json.endObject()
            }
        }
    }

    private nonisolated func object(status: Int = 200, _ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        var json = JSONWriter(reservingCapacity: 1024)
        json.beginObject()
        members(&json)
        json.endObject()
        return .json(json.bytes, status: status)
    }

    private nonisolated func number(
        _ head: HTTPRequestHead, _ name: String, in range: ClosedRange<Int>, default fallback: Int
    ) throws(ControlProblem) -> Int {
        guard let text = head.queryValue(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw ControlProblem(
                field: name, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension ControlProblem {
    var response: HTTPResponse {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", "urn:holdfast:simulator:\(code)")
        json.member("title", code)
        json.member("status", status)
        json.member("detail", detail)
        if let field { json.member("field", field) }
        json.endObject()
        return HTTPResponse(status: status, contentType: "application/problem+json", body: json.bytes)
    }
}
