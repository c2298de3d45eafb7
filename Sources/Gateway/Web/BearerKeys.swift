internal import CCrypto
package import Entitlements
package import HTTP

/// What a key allows.
package enum KeyScope: String, Sendable, Hashable, CaseIterable {
    case read, write, support, admin
}

/// One key of a backend, a support tool or an operator. The key itself is not kept, only its SHA-256.
package struct BearerKey: Sendable, Hashable {
    /// Says in logs whose it is.
    package var name: String
    package var digest: [UInt8]
    package var scopes: Set<KeyScope>
    /// The apps it is good for; nil for all.
    package var apps: Set<AppID>?

    package init(name: String, digest: [UInt8], scopes: Set<KeyScope>, apps: Set<AppID>? = nil) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.apps = apps
    }

    package init(name: String, key: String, scopes: Set<KeyScope>, apps: Set<AppID>? = nil) {
        self.init(name: name, digest: Self.digest(of: Array(key.utf8)), scopes: scopes, apps: apps)
    }

    static func digest(of key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = unsafe SHA256(key, key.count, &digest)
        return digest
    }
}

/// The keys in force, and who may do what with them.
package struct BearerKeys: Sendable {
    private let keys: [BearerKey]

    package init(_ keys: [BearerKey]) { self.keys = keys }

    /// The key of a request, if it allows `scope` for `app`; the problem otherwise.
    package func authorize(
        _ head: HTTPRequestHead, _ scope: KeyScope, for app: AppID
    ) -> Result<BearerKey, ProblemError> {
        guard let token = Self.token(of: head) else {
            return .failure(Self.unauthenticated("Send a key as: Authorization: Bearer <key>.", challenge: "Bearer"))
        }
        guard let key = find(token) else {
            return .failure(
                Self.unauthenticated("The key is not known here.", challenge: "Bearer error=\"invalid_token\""))
        }
        // A key of another app learns nothing about which apps there are.
        guard key.scopes.contains(scope), key.apps?.contains(app) ?? true else {
            let problem = Problem(
                .missingScope, "This needs a key with the scope \(scope.rawValue) for this app.",
                headers: ["WWW-Authenticate": "Bearer error=\"insufficient_scope\", scope=\"\(scope.rawValue)\""])
            return .failure(ProblemError(problem: problem))
        }
        return .success(key)
    }

    /// Compares with every key, and every byte of it, so that the time taken tells nothing.
    private func find(_ token: ArraySlice<UInt8>) -> BearerKey? {
        let digest = BearerKey.digest(of: Array(token))
        var found: BearerKey?
        for key in keys where key.digest.count == digest.count {
            if unsafe CRYPTO_memcmp(key.digest, digest, digest.count) == 0 { found = key }
        }
        return found
    }

    private static func token(of head: HTTPRequestHead) -> ArraySlice<UInt8>? {
        guard let value = head.headers.bytes(of: "Authorization") else { return nil }
        let scheme = Array("bearer ".utf8)
        guard value.count > scheme.count, zip(value, scheme).allSatisfy({ $0 | 0x20 == $1 }) else { return nil }
        let token = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        return token.isEmpty ? nil : token
    }

    private static func unauthenticated(_ detail: String, challenge: String) -> ProblemError {
        ProblemError(problem: Problem(.unauthenticated, detail, headers: ["WWW-Authenticate": challenge]))
    }
}

/// A problem as an error.
package struct ProblemError: Error, Sendable, Hashable {
    package let problem: Problem
    package init(problem: Problem) { self.problem = problem }
}
