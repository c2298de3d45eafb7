import AppStore
import Entitlements
import Testing
import Time

/// Random damage: whatever comes in, a verdict comes out, and never a good one.
@Suite struct MutationTests {
    let forge: Forge
    let app = Forge.identity

    init() throws { forge = try Forge() }

    /// A small generator with a seed, so that a failure can be repeated.
    struct Dice: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    func damaged(_ bytes: [UInt8], with dice: inout Dice) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<3, using: &dice) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &dice)
            switch Int.random(in: 0..<5, using: &dice) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &dice)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(UInt8.random(in: .min ... .max, using: &dice), at: index)
            case 3: bytes.removeSubrange(index...)
            default: bytes.swapAt(index, Int.random(in: 0..<bytes.count, using: &dice))
            }
        }
        return bytes
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func damagedBodiesNeverPass(seed: UInt64) throws {
        var dice = Dice(state: seed)
        let verifier = try forge.notifications()
        let body = SignedBody.body(signedPayload: try forge.notification())
        let whole = try verifier.verify(body, for: app, now: Forge.now)
        for _ in 0..<50 {
            let other = damaged(body, with: &dice)
            do {
                let read = try verifier.verify(other, for: app, now: Forge.now)
                // White space and a change that undoes itself are no damage.
                #expect(read.envelope.bytes == whole.envelope.bytes)
            } catch { _ = error.description }
            _ = VerificationReport(of: other, verifier: verifier.verifier, now: Forge.now).text
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func damagedPayloadsUnderAGoodSignatureHaveAVerdict(seed: UInt64) throws {
        var dice = Dice(state: 1000 + seed)
        let verifier = try forge.notifications()
        for _ in 0..<40 {
            let payload = String(decoding: damaged(Array(Forge.transaction().utf8), with: &dice), as: UTF8.self)
            let jws = try forge.notification(transaction: try forge.sign(payload))
            do {
                let read = try verifier.verify(SignedBody.body(signedPayload: jws), for: app, now: Forge.now)
                _ = read.observation(app: .init("demo"))
            } catch { _ = error.description }
        }
    }

    @Test func damagedCertificatesHaveAVerdict() throws {
        var dice = Dice(state: 7)
        let verifier = try forge.verifier()
        for _ in 0..<150 {
            var chain = forge.authority.chain
            let place = Int.random(in: 0..<3, using: &dice)
            chain[place] = damaged(chain[place], with: &dice)
            let jws = Array(try forge.sign(Forge.transaction(), x5c: chain).utf8)
            do {
                _ = try verifier.verify(jws[...], as: TransactionPayload.self, now: Forge.now)
                #expect(place == 2 || chain == forge.authority.chain)
            } catch { _ = error.description }
        }
    }
}
