import AppStore
import Time

/// What libFuzzer calls: whatever certificate comes in, a verdict comes out, and no chain of it is trusted.
///
/// The first byte of the input says where the certificate stands: as a root, as a key, or in Apple's real chain in place
/// of the leaf, of the intermediate, of the root or of all three. OpenSSL reads some thousand certificates a second.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzX509(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] & 7 {
    case 0: checkRoots(try? TrustedRoots(der: [input]))
    case 1: checkRoots(try? TrustedRoots(file: input))
    case 2:
        precondition(VerifyingKey(subjectPublicKeyInfo: input).map { $0.curve == .p256 || $0.curve == .p384 } ?? true)
    case 3: checkChain([input, AppleChain.intermediate, AppleChain.root])
    case 4: checkChain([AppleChain.leaf, input, AppleChain.root])
    case 5: checkChain([AppleChain.leaf, AppleChain.intermediate, input])
    case 6: checkChain([input, input, input])
    default: checkChain(split(input))
    }
    return 0
}

private let now = Timestamp(milliseconds: 1_795_448_000_000)

/// Hardly any unknown chain passes on to the signatures of its certificates, which cost more than all parsing.
private let verifier = {
    var limits = VerificationLimits()
    limits.unknownChainsPerSecond = 1
    return JWSVerifier(limits: limits)
}()

private func checkRoots(_ roots: TrustedRoots?) {
    guard let roots else { return }
    precondition(roots.fingerprints.count == roots.subjects.count && !roots.fingerprints.isEmpty)
}

private func checkChain(_ chain: [[UInt8]]) {
    let header = Base64URL.encode(SignedJWS.header(x5c: chain))
    let jws = Array("\(header).e30.\(Base64URL.encode([UInt8](repeating: 1, count: 64)))".utf8)
    do {
        _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: now)
        preconditionFailure("something passed without a signature")
    } catch { precondition(!error.sentence.isEmpty) }
}

/// Several certificates, each behind its length.
private func split(_ input: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = input[...]
    while rest.count >= 2, pieces.count < 4 {
        let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        rest = rest.dropFirst(2)
        pieces.append(Array(rest.prefix(length)))
        rest = rest.dropFirst(length)
    }
    return pieces
}
