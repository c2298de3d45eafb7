internal import AppStore
internal import Time

/// Judges the bearer token of a Server API request; whatever is wrong with it, Apple says no more than 401.
struct APITokenVerifier: Sendable {
    private let keyID: String
    private let issuerID: String
    private let bundleID: String
    private let key: VerifyingKey?

    init(identity: SimulatorIdentity, bundleID: String) {
        keyID = identity.keyID
        issuerID = identity.issuerID
        self.bundleID = bundleID
        // A key that was just read or made yields its public half; without one nobody is let in.
        key = try? identity.apiKey.verifyingKey()
    }

    func accepts(authorization: String?, at now: Timestamp) -> Bool {
        guard let authorization, authorization.utf8.count <= 4096, authorization.lowercased().hasPrefix("bearer ")
        else { return false }
        do {
            let token = try ServerAPIToken.verify(String(authorization.dropFirst(7)), now: now) {
                $0 == keyID ? key : nil
            }
            return token.issuerID == issuerID && token.bundleID == bundleID
        } catch {
            return false
        }
    }
}
