internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Apple's App Store Server API, as far as it is simulated.
extension Simulator {
    /// The API with all its moods: dark, slow, failing, limited.
    nonisolated func apiResponse(to request: HTTPRequest, _ path: [String]) async -> HTTPResponse {
        let mood = await mood()
        if mood.isSilent {
            await hold()
            return HTTPResponse(status: 504)
        }
        if mood.slowMilliseconds > 0 {
            // Cancelled only when the process ends, and then the answer no longer matters.
            try? await Task.sleep(for: .milliseconds(mood.slowMilliseconds))
        }
        if let status = mood.failStatus {
            return status == 500 ? APIError.internalError.response : HTTPResponse(status: status)
        }
        guard tokens.accepts(authorization: request.headers["Authorization"], at: clock.now()) else {
            return HTTPResponse(status: 401)
        }
        if let retryAfter = mood.retryAfter {
            var response = APIError.rateLimited.response
            response.headers.set("Retry-After", String(retryAfter.milliseconds))
            return response
        }
        do {
            return try await answer(request, path)
        } catch let error as APIError {
            return error.response
        } catch {
            log.error("not answered", ["path": .init(request.path), "error": .init(error)])
            return APIError.internalError.response
        }
    }

    private struct Mood: Sendable {
        var isSilent: Bool
        var slowMilliseconds: Int
        var failStatus: Int?
        var retryAfter: Timestamp?
    }

    private func mood() -> Mood {
        let behaviour = apiBehaviour
        let fails = behaviour.failStatus > 0 && random.happens(behaviour.failPercent)
        return Mood(
            isSilent: behaviour.isDark || random.happens(behaviour.losePercent),
            slowMilliseconds: behaviour.slowMilliseconds, failStatus: fails ? behaviour.failStatus : nil,
            retryAfter: rate.admit(limit: behaviour.ratePerSecond, at: clock.now()))
    }

    private nonisolated func answer(_ request: HTTPRequest, _ path: [String]) async throws -> HTTPResponse {
        switch (request.method, path.count, path.first, path.dropFirst().first, path.dropFirst(2).first) {
        case ("GET", 3, "v1", "subscriptions", let id?): try await statuses(of: id, request)
        case ("GET", 3, "v1", "transactions", let id?): try await transactionInfo(id)
        case ("GET", 3, "v1", "history", let id?), ("GET", 3, "v2", "history", let id?):
            try await history(of: id, request)
        case ("POST", 3, "v1", "notifications", "history"): try await notificationHistory(request)
        case ("POST", 3, "v1", "notifications", "test"): try await sendTest()
        case ("GET", 4, "v1", "notifications", "test"): try await testStatus(path[3])
        default: HTTPResponse(status: 404)
        }
    }

    // MARK: Subscriptions and transactions

    private nonisolated func statuses(of id: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        var wanted: Set<Int64> = []
        for value in request.head.queryValues("status") {
            guard let status = value.flatMap({ Int64($0) }), (1...5).contains(status) else {
                throw APIError.invalidStatus
            }
            wanted.insert(status)
        }
        let found = try await subscriptions(withTransaction: id)
        let now = clock.now()
        var json = JSONWriter(reservingCapacity: 16 << 10)
        json.beginObject()
        json.member("environment", settings.store.environment.rawValue)
        json.member("bundleId", settings.store.bundleID)
        if settings.store.environment == .production { json.member("appAppleId", settings.store.appAppleID) }
        json.key("data")
        json.beginArray()
        for (group, items) in Dictionary(grouping: found, by: \.renewal.subscription.group).sorted(by: {
            $0.key < $1.key
        }) {
            let shown = items.filter { wanted.isEmpty || wanted.contains($0.renewal.subscription.status) }
            guard !shown.isEmpty else { continue }
            json.beginObject()
            json.member("subscriptionGroupIdentifier", group)
            json.key("lastTransactions")
            json.beginArray()
            for item in shown {
                json.beginObject()
                json.member("originalTransactionId", item.transaction.originalID)
                json.member("status", item.renewal.subscription.status)
                json.member("signedTransactionInfo", try signer.sign(item.transaction, at: now))
                json.member("signedRenewalInfo", try signer.sign(item.renewal, at: now))
                json.endObject()
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(json.bytes)
    }

    private func subscriptions(
        withTransaction id: String
    ) throws(APIError) -> [(transaction: StoreTransaction, renewal: StoreRenewal)] {
        let account = try owner(ofTransaction: id)
        return (store.accounts[account]?.subscriptionIDs.values ?? [:].values).compactMap { id in
            guard let subscription = store.subscriptions[id], let transaction = store.newest(of: subscription),
                let renewal = store.renewal(of: id)
            else { return nil }
            return (transaction, renewal)
        }
    }

    private func owner(ofTransaction id: String) throws(APIError) -> String {
        guard !id.isEmpty, id.utf8.count <= 32, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw APIError.invalidTransactionID
        }
        tick()
        guard let transaction = store.transactions[id] else { throw APIError.transactionNotFound }
        return transaction.account
    }

    private func transaction(_ id: String) throws(APIError) -> StoreTransaction {
        _ = try owner(ofTransaction: id)
        guard let transaction = store.transactions[id] else { throw APIError.transactionNotFound }
        return transaction
    }

    private nonisolated func transactionInfo(_ id: String) async throws -> HTTPResponse {
        let transaction = try await transaction(id)
        var json = JSONWriter(reservingCapacity: 8 << 10)
        json.beginObject()
        json.member("signedTransactionInfo", try signer.sign(transaction, at: clock.now()))
        json.endObject()
        return .json(json.bytes)
    }

    private func allTransactions(withTransaction id: String) throws(APIError) -> [StoreTransaction] {
        store.transactions(of: try owner(ofTransaction: id))
    }

    private nonisolated func history(of id: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        let filter = try TransactionFilter(request.head)
        let matching = filter.apply(to: try await allTransactions(withTransaction: id))
        let page = matching.dropFirst(filter.offset).prefix(20)
        let now = clock.now()
        var json = JSONWriter(reservingCapacity: 64 << 10)
        json.beginObject()
        json.member("revision", TransactionFilter.revision(filter.offset + page.count))
        json.member("hasMore", filter.offset + page.count < matching.count)
        json.member("bundleId", settings.store.bundleID)
        if settings.store.environment == .production { json.member("appAppleId", settings.store.appAppleID) }
        json.member("environment", settings.store.environment.rawValue)
        json.key("signedTransactions")
        json.beginArray()
        for transaction in page { json.string(try signer.sign(transaction, at: now)) }
        json.endArray()
        json.endObject()
        return .json(json.bytes)
    }

    // MARK: Notifications

    private nonisolated func notificationHistory(_ request: HTTPRequest) async throws -> HTTPResponse {
        let filter = try NotificationFilter(request, at: clock.now(), settings.store.environment)
        let (page, hasMore) = try await page(of: filter)
        var json = JSONWriter(reservingCapacity: 512 << 10)
        json.beginObject()
        json.key("notificationHistory")
        json.beginArray()
        for entry in page { try write(entry, to: &json) }
        json.endArray()
        json.member("hasMore", hasMore)
        json.member("paginationToken", NotificationFilter.token(after: page.last?.sequence ?? filter.after))
        json.endObject()
        return .json(json.bytes)
    }

    private func page(of filter: NotificationFilter) throws(APIError) -> (page: [Outbox.Entry], hasMore: Bool) {
        var account: String?
        if let id = filter.transactionID { account = try owner(ofTransaction: id) }
        tick()
        var found: [Outbox.Entry] = []
        for entry in outbox.entries(after: filter.after) where filter.matches(entry, account: account) {
            if found.count == 20 { return (found, true) }
            found.append(entry)
        }
        return (found, false)
    }

    /// One record: the envelope, signed anew over the same content, and every try to send it.
    private nonisolated func write(_ entry: Outbox.Entry, to json: inout JSONWriter) throws(SigningError) {
        json.beginObject()
        json.member("signedPayload", try signer.signedPayload(of: entry.notification))
        json.array("sendAttempts", entry.attempts) { json, attempt in
            json.beginObject()
            json.member("attemptDate", attempt.time.milliseconds)
            json.member("sendAttemptResult", attempt.result.rawValue)
            json.endObject()
        }
        json.endObject()
    }

    private func sendTest() throws(APIError) -> HTTPResponse {
        guard settings.notificationURL != nil else { throw APIError.noNotificationURL }
        var json = JSONWriter()
        json.beginObject()
        json.member("testNotificationToken", requestTestNotification().token)
        json.endObject()
        return .json(json.bytes)
    }

    private nonisolated func testStatus(_ token: String) async throws -> HTTPResponse {
        guard token.utf8.count <= 100 else { throw APIError.invalidTestToken }
        let entry = try await testEntry(token)
        var json = JSONWriter(reservingCapacity: 8 << 10)
        try write(entry, to: &json)
        return .json(json.bytes)
    }

    private func testEntry(_ token: String) throws(APIError) -> Outbox.Entry {
        guard let entry = testNotifications[token].flatMap({ outbox.entry($0) }) else {
            throw APIError.testNotificationNotFound
        }
        return entry
    }
}
