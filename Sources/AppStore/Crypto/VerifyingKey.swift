internal import CCrypto
internal import Synchronization

/// A public elliptic-curve key.
package struct VerifyingKey: Sendable {
    let key: Key
    private let ready: ReadyContext?
    private let table: TableForOften

    package var curve: Curve { key.curve }

    init(_ key: Key) {
        self.key = key
        ready = ReadyContext(key)
        table = TableForOften(key)
    }

    /// Reads a DER SubjectPublicKeyInfo; nil unless it is a key on P-256 or P-384 and nothing else.
    package init?(subjectPublicKeyInfo der: [UInt8]) {
        let (pointer, isWhole) = unsafe der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Bool) in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_PUBKEY(nil, &position, bytes.count)
            return unsafe (pointer, position == bytes.baseAddress.map { unsafe $0 + bytes.count })
        }
        ERR_clear_error()
        guard let key = unsafe Key(taking: pointer), isWhole else { return nil }
        self.init(key)
    }

    /// Whether `signature` (r‖s, 64 bytes) is this key's ES256 signature of `message`.
    package func isES256Signature(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        verdict(on: signature, ofDigest: SHA256.digest(message)) == .good
    }

    enum Verdict { case good, bad, undecidable }

    /// The same of a message's SHA-256, telling a bad signature from a check that could not be carried out.
    func verdict(on signature: [UInt8], ofDigest digest: [UInt8]) -> Verdict {
        guard curve == .p256, signature.count == ECDSASignature.es256Size, digest.count == SHA256.byteCount else {
            return .bad
        }
        // Only its yes counts. What it does not accept, OpenSSL's whole verification judges.
        if let table = table.use(), table.accepts(signature, ofDigest: digest) { return .good }
        guard let context = unsafe ready?.copy() else { return .undecidable }
        defer {
            unsafe EVP_PKEY_CTX_free(context)
            // Entries in a thread's error queue would be taken for TLS errors by the next to look.
            ERR_clear_error()
        }
        let der = ECDSASignature.der(fromRaw: signature[...])
        return unsafe EVP_PKEY_verify(context, der, der.count, digest, digest.count) == 1 ? .good : .bad
    }

    /// Makes the table of multiples now, as otherwise happens in the background after enough verifications.
    package func prepare() { table.make() }
}

/// The table of a key, made in the background when the key has verified so often that a table repays its cost.
private final class TableForOften: Sendable {
    /// A table costs what a thousand verifications cost less with it.
    private static let enough = 1000

    private let key: Key
    private let uses = Atomic(0)
    private let table = Mutex<KeyTable?>(nil)

    init(_ key: Key) { self.key = key }

    /// Counts a use, and hands out the table if there is one.
    func use() -> KeyTable? {
        if let table = table.withLock({ $0 }) { return table }
        if uses.wrappingAdd(1, ordering: .relaxed).newValue == Self.enough { Task.detached { self.make() } }
        return nil
    }

    func make() {
        guard let made = KeyTable(key) else { return }
        table.withLock { $0 = made }
    }
}

/// A context of OpenSSL's that is ready to verify with one key: copying it costs a fifth of making one.
///
/// `@unchecked Sendable`: the context is only copied from after `init`, which OpenSSL allows any number of threads.
@safe
private final class ReadyContext: @unchecked Sendable {
    private let context: OpaquePointer

    init?(_ key: Key) {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_PKEY_CTX_new(key.pointer, nil) else { return nil }
        unsafe self.context = unsafe context
        guard unsafe EVP_PKEY_verify_init(context) == 1 else { return nil }
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

    /// The caller frees it.
    func copy() -> OpaquePointer? { unsafe EVP_PKEY_CTX_dup(context) }
}
