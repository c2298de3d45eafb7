internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Test notifications, and what became of those that were sent.
extension Simulator {
    nonisolated func notificationHistory(_ request: HTTPRequest) async throws -> HTTPResponse {
        let now = clock.now()
        let filter = try NotificationFilter(request, at: now, settings.store.environment)
        let (page, hasMore) = try await page(of: filter)
        return try apiObject(512 << 10) { json in
            json.key("notificationHistory")
            json.beginArray()
            for entry in page {
                json.beginObject()
                try write(entry, to: &json)
                json.endObject()
            }
            json.endArray()
            json.member("hasMore", hasMore)
            json.member("paginationToken", filter.token(after: page.last?.sequence ?? filter.after, at: now))
        }
    }

    private func page(of filter: NotificationFilter) throws(APIError) -> (page: [Outbox.Entry], hasMore: Bool) {
        tick()
        let account = try filter.transactionID.map { (id) throws(APIError) in try store.customer(id).token }
        var found: [Outbox.Entry] = []
        for entry in outbox.entries(after: filter.after) where filter.matches(entry, account: account) {
            if found.count == APIPage.size { return (found, true) }
            found.append(entry)
        }
        return (found, false)
    }

    /// One record: the envelope, signed anew over the same content, and every try to send it.
    private nonisolated func write(_ entry: Outbox.Entry, to json: inout JSONWriter) throws(SigningError) {
        json.member("signedPayload", try signer.signedPayload(of: entry.notification))
        json.array("sendAttempts", entry.attempts) { json, attempt in
            json.beginObject()
            json.member("attemptDate", attempt.time.milliseconds)
            json.member("sendAttemptResult", attempt.result.rawValue)
            json.endObject()
        }
    }

    func sendTest() throws(APIError) -> HTTPResponse {
        guard settings.notificationURL != nil else { throw .noNotificationURL }
        let token = requestTestNotification().token
        return apiObject { $0.member("testNotificationToken", token) }
    }

    nonisolated func testStatus(_ token: String) async throws -> HTTPResponse {
        let entry = try await testEntry(token)
        return try apiObject(8 << 10) { try write(entry, to: &$0) }
    }

    /// Nothing is known of it before the first try has ended.
    private func testEntry(_ token: String) throws(APIError) -> Outbox.Entry {
        guard (1...100).contains(token.utf8.count), token.utf8.allSatisfy(Self.isOfToken) else {
            throw .invalidTestToken
        }
        guard let entry = testNotifications[token].flatMap({ outbox.entry($0) }), !entry.attempts.isEmpty else {
            throw .testNotificationNotFound
        }
        return entry
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
    }
}
