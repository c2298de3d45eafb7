internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Statuses, and renewal dates put off.
extension Simulator {
    nonisolated func statuses(of id: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        var wanted: Set<Int64> = []
        for value in request.head.queryValues("status") {
            guard let status = value.flatMap({ Int64($0) }), (1...5).contains(status) else {
                throw APIError.invalidStatus
            }
            wanted.insert(status)
        }
        let found = try await subscriptions(ofCustomer: id)
        let now = clock.now()
        let groups = Dictionary(grouping: found, by: \.1.subscription.group).sorted { $0.key < $1.key }
        return try apiObject(16 << 10) { json in
            json.member("environment", settings.store.environment.rawValue)
            json.member("bundleId", settings.store.bundleID)
            if settings.store.environment == .production { json.member("appAppleId", settings.store.appAppleID) }
            json.key("data")
            json.beginArray()
            for (group, items) in groups {
                let shown = items.filter { wanted.isEmpty || wanted.contains($0.1.subscription.status) }
                guard !shown.isEmpty else { continue }
                json.beginObject()
                json.member("subscriptionGroupIdentifier", group)
                json.key("lastTransactions")
                json.beginArray()
                for (transaction, renewal) in shown {
                    json.beginObject()
                    json.member("originalTransactionId", transaction.originalID)
                    json.member("status", renewal.subscription.status)
                    json.member("signedTransactionInfo", try signer.sign(transaction, at: now))
                    json.member("signedRenewalInfo", try signer.sign(renewal, at: now))
                    json.endObject()
                }
                json.endArray()
                json.endObject()
            }
            json.endArray()
        }
    }

    private func subscriptions(ofCustomer id: String) throws(APIError) -> [(StoreTransaction, StoreRenewal)] {
        tick()
        return try store.subscriptions(ofCustomer: id)
    }

    func extend(_ id: String, _ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        let body = try extensionRequest(request.apiBody())
        let now = tick()
        let (transaction, events) = try store.extend(originalID: id, body, at: now)
        publish(events, at: now)
        return apiObject { json in
            json.member("originalTransactionId", transaction.originalID)
            json.member("webOrderLineItemId", transaction.lineItemID)
            json.member("success", true)
            json.member("effectiveDate", transaction.expiresDate?.milliseconds)
        }
    }

    func massExtend(_ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        let body = try request.apiBody()
        let wanted = try extensionRequest(body)
        guard Store.isUUID(wanted.identifier.lowercased()) else { throw .invalidRequestIdentifier }
        guard let productID = body["productId"]?.string else { throw .invalidProductID }
        let mass = MassExtension(
            key: .init(productID: productID, requestIdentifier: wanted.identifier), request: wanted,
            storefronts: try storefronts(body["storefrontCountryCodes"]))
        let now = tick()
        try store.beginMassExtension(mass, at: now)
        // It falls due by itself.
        pump()
        return apiObject { $0.member("requestIdentifier", wanted.identifier) }
    }

    func massExtendStatus(_ productID: String, _ identifier: String) throws(APIError) -> HTTPResponse {
        tick()
        let mass = try store.massExtension(.init(productID: productID, requestIdentifier: identifier))
        return apiObject { json in
            json.member("requestIdentifier", mass.request.identifier)
            json.member("complete", mass.completedAt != nil)
            guard let completed = mass.completedAt else { return }
            json.member("completeDate", completed.milliseconds)
            json.member("succeededCount", mass.succeeded)
            json.member("failedCount", mass.failed)
        }
    }

    private nonisolated func extensionRequest(_ body: JSONValue) throws(APIError) -> ExtensionRequest {
        guard let days = body["extendByDays"]?.int64, Store.extensionDays.contains(days) else {
            throw .invalidExtendByDays
        }
        guard let reason = body["extendReasonCode"]?.int64, (0...3).contains(reason) else {
            throw .invalidExtendReasonCode
        }
        guard let identifier = body["requestIdentifier"]?.string, (1...128).contains(identifier.utf8.count) else {
            throw .invalidRequestIdentifier
        }
        return ExtensionRequest(days: days, reason: reason, identifier: identifier)
    }

    /// ISO 3166-1 alpha-3 codes.
    private nonisolated func storefronts(_ value: JSONValue?) throws(APIError) -> [String]? {
        guard let value, !value.isNull else { return nil }
        guard let list = value.array else { throw .invalidStorefront }
        guard !list.isEmpty else { throw .emptyStorefronts }
        var codes: [String] = []
        for item in list {
            guard let code = item.string, code.utf8.count == 3, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
            else { throw .invalidStorefront }
            codes.append(code)
        }
        return codes
    }
}
