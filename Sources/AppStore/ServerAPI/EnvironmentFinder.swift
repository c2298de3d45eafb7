package import Entitlements

/// Both environments of one app, for ids of which nobody knows where they belong.
package struct EnvironmentFinder: Sendable {
    private let production: ServerAPIClient
    private let sandbox: ServerAPIClient

    package init(production: ServerAPIClient, sandbox: ServerAPIClient) {
        self.production = production
        self.sandbox = sandbox
    }

    /// Finds the environment of a transaction as Apple tells to: asks production, and the sandbox when production does
    /// not know it (4040010). Also when production answers 401, as it does until an app's first release; if the
    /// sandbox does not take the token either, the 401 of production is what is thrown.
    package func find(
        _ transactionID: String, _ priority: CallPriority
    ) async throws(ServerAPIFailure) -> (environment: StoreEnvironment, response: TransactionInfoResponse) {
        let first: ServerAPIFailure
        do throws(ServerAPIFailure) {
            return (.production, try await production.transaction(transactionID, priority))
        } catch { first = error }
        guard first.isTransactionNotFound || first.kind == .unauthorized else { throw first }
        do throws(ServerAPIFailure) {
            return (.sandbox, try await sandbox.transaction(transactionID, priority))
        } catch {
            throw first.kind == .unauthorized && error.kind == .unauthorized ? first : Self.failure(first, error)
        }
    }

    /// The sandbox's failure, which says what production said.
    private static func failure(_ production: ServerAPIFailure, _ sandbox: ServerAPIFailure) -> ServerAPIFailure {
        let refused = production.kind == .unauthorized
        let message =
            switch (refused, sandbox.isTransactionNotFound) {
            case (false, true): "neither production nor the sandbox knows it"
            case (true, true): "the sandbox does not know it, and production does not take the key (401)"
            case (false, false): "production does not know it, and of the sandbox: \(sandbox.message)"
            case (true, false): "production does not take the key (401), and of the sandbox: \(sandbox.message)"
            }
        return ServerAPIFailure(
            sandbox.kind, sandbox.endpoint, message, status: sandbox.status, code: sandbox.code,
            isRetryable: sandbox.isRetryable, retryAfter: sandbox.retryAfter,
            remedy: sandbox.isTransactionNotFound && !refused ? "it may belong to another app" : nil)
    }
}
