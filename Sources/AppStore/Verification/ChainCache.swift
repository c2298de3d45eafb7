internal import Glibc
internal import Synchronization

/// Verified chains, so that one more payload under the same certificates costs one P-256 verification.
///
/// Bounded by count and by age. Only chains that led to a trusted root enter, so that no number of forged ones can
/// push a good one out; and the third certificate of a header, which anybody may replace, is no part of the key.
final class ChainCache: Sendable {
    struct Entry: Sendable {
        let chain: VerifiedChain
        /// The third certificate that came with it, known to be readable.
        let third: String
    }

    /// A header, byte for byte, that was part of something the chain's key signed.
    struct KnownHeader: Sendable {
        let text: [UInt8]
        let chain: VerifiedChain
        /// The header and the dot behind it, hashed.
        let beginning: HashedBeginning?
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var headers: [KnownHeader] = []
        /// Chains looked at in the second that began at `windowStart`.
        var windowStart: ContinuousClock.Instant?
        var windowCount = 0
    }

    private let limits: VerificationLimits
    private let state = Mutex(State())

    init(limits: VerificationLimits) { self.limits = limits }

    /// A header seen before: a comparison of bytes, no decoding and no hash.
    func header(_ text: ArraySlice<UInt8>) -> KnownHeader? {
        let headers = state.withLock { $0.headers }
        guard let known = headers.first(where: { isSame($0.text, text) }) else { return nil }
        return isFresh(known.chain) ? known : nil
    }

    func entry(for key: [UInt8]) -> Entry? {
        guard let entry = state.withLock({ $0.entries[key] }), isFresh(entry.chain) else { return nil }
        return entry
    }

    /// Keeps a chain that has been verified.
    func insert(_ chain: VerifiedChain, third: String, for key: [UInt8]) {
        state.withLock { state in
            state.entries[key] = Entry(chain: chain, third: third)
            while state.entries.count > max(1, limits.cachedChains),
                let oldest = state.entries.min(by: { $0.value.chain.verifiedAt < $1.value.chain.verifiedAt })?.key
            {
                state.entries[oldest] = nil
            }
        }
    }

    /// Remembers the header of a payload whose signature was good: only the holder of the chain's key can add one.
    func remember(_ jws: CompactJWS, of chain: VerifiedChain) {
        let known = KnownHeader(
            text: Array(jws.header), chain: chain, beginning: HashedBeginning(jws.beginning))
        state.withLock { state in
            state.headers.removeAll { $0.text == known.text }
            state.headers.insert(known, at: 0)
            if state.headers.count > Self.mostHeaders { state.headers.removeLast() }
        }
    }

    /// Takes one from this second's budget of unknown chains (each costs two P-384 verifications, over a millisecond).
    func permitUnknownChain() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            if let start = state.windowStart, now - start < .seconds(1) {
                guard state.windowCount < limits.unknownChainsPerSecond else { return false }
                state.windowCount += 1
            } else {
                state.windowStart = now
                state.windowCount = 1
            }
            return true
        }
    }

    /// Chains that were verified lately and count without another look.
    var fresh: [VerifiedChain] { state.withLock { $0.entries.values.map(\.chain) }.filter(isFresh) }

    var count: Int { state.withLock { $0.entries.count } }
    var headerCount: Int { state.withLock { $0.headers.count } }

    /// Apple signs with one leaf at a time and with a handful around a change; comparing more is slower than hashing.
    private static let mostHeaders = 8

    private func isFresh(_ chain: VerifiedChain) -> Bool {
        ContinuousClock.now - chain.verifiedAt < limits.chainAge
    }

    private func isSame(_ known: [UInt8], _ text: ArraySlice<UInt8>) -> Bool {
        guard known.count == text.count else { return false }
        return unsafe known.withUnsafeBytes { known in
            unsafe text.withUnsafeBytes { text in
                guard let a = known.baseAddress, let b = text.baseAddress else { return true }
                return unsafe memcmp(a, b, known.count) == 0
            }
        }
    }
}
