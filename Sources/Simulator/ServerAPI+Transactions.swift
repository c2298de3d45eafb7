internal import AppStore
internal import HTTP
internal import JSON
internal import Runtime
internal import Time

/// Single transactions, histories, orders and what is sent about purchases.
extension Simulator {
    nonisolated func transactionInfo(_ id: String) async throws -> HTTPResponse {
        let transaction = try await transaction(id)
        return try apiObject(8 << 10) {
            $0.member("signedTransactionInfo", try signer.sign(transaction, at: clock.now()))
        }
    }

    private func transaction(_ id: String) throws(APIError) -> StoreTransaction {
        tick()
        return try store.transaction(id)
    }

    nonisolated func appTransactionInfo(_ id: String) async throws -> HTTPResponse {
        let transaction = try await appTransaction(ofCustomer: id)
        return try apiObject(8 << 10) {
            $0.member("signedAppTransactionInfo", try signer.sign(transaction, at: clock.now()))
        }
    }

    private func appTransaction(ofCustomer id: String) throws(APIError) -> AppTransaction {
        tick()
        return try store.appTransaction(ofCustomer: id)
    }

    // MARK: Pages

    nonisolated func history(of id: String, _ request: HTTPRequest, version: Int) async throws -> HTTPResponse {
        let filter = try TransactionFilter(request.head, version: version)
        let page = filter.page(of: try await history(ofCustomer: id))
        let malformed = await apiBehaviour.malformed
        let environment = settings.store.environment
        return try apiObject(64 << 10) { json in
            json.member("revision", page.revision)
            json.member("hasMore", page.hasMore)
            json.member("bundleId", settings.store.bundleID)
            if malformed == .appAppleID {
                json.member("appAppleId", "blue")
            } else if environment == .production {
                json.member("appAppleId", settings.store.appAppleID)
            }
            json.member("environment", environment.rawValue + (malformed == .environment ? "xxx" : ""))
            try write(page.transactions, to: &json)
        }
    }

    private func history(ofCustomer id: String) throws(APIError) -> [StoreTransaction] {
        tick()
        return try store.history(ofCustomer: id)
    }

    nonisolated func refunds(of id: String, _ request: HTTPRequest) async throws -> HTTPResponse {
        let revision = try APIRevision(request.head, isDescending: false)
        let page = APIPage(try await refunds(ofCustomer: id), revision, false)
        return try apiObject(64 << 10) { json in
            try write(page.transactions, to: &json)
            json.member("revision", page.revision)
            json.member("hasMore", page.hasMore)
        }
    }

    private func refunds(ofCustomer id: String) throws(APIError) -> [StoreTransaction] {
        tick()
        return try store.refunds(ofCustomer: id)
    }

    /// What is no order of this app's has a status of its own, and no error.
    nonisolated func order(_ id: String) async throws -> HTTPResponse {
        let found = await purchases(inOrder: id)
        return try apiObject(8 << 10) { json in
            json.member("status", found.isEmpty ? 1 : 0)
            try write(found, to: &json)
        }
    }

    private func purchases(inOrder id: String) -> [StoreTransaction] {
        tick()
        return store.purchases(inOrder: id)
    }

    private nonisolated func write(
        _ transactions: [StoreTransaction], to json: inout JSONWriter
    ) throws(SigningError) {
        let now = clock.now()
        json.key("signedTransactions")
        json.beginArray()
        for transaction in transactions { json.string(try signer.sign(transaction, at: now)) }
        json.endArray()
    }

    // MARK: What is sent

    func finish(_ id: String) throws(APIError) -> HTTPResponse {
        tick()
        try store.finish(id)
        return HTTPResponse(status: 200)
    }

    func setAccountToken(_ id: String, _ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        guard let token = try request.apiBody()["appAccountToken"]?.string else { throw .invalidAccountTokenUUID }
        tick()
        try store.setAccountToken(token, ofOriginal: id)
        return HTTPResponse(status: 200)
    }

    func consumption(_ id: String, _ request: HTTPRequest, version: Int) throws(APIError) -> HTTPResponse {
        let now = tick()
        let transaction = try store.transaction(id)
        let body = try request.apiBody()
        let report =
            version == 1
            ? try ConsumptionReport(v1: body, about: transaction, at: now)
            : try ConsumptionReport(v2: body, about: transaction, at: now)
        try store.add(report, to: id)
        return HTTPResponse(status: 202)
    }
}
