import Runtime
import TestSupport
import Testing
import Time

@testable import AppStore

/// When the certificates end on which verification rests.
@Suite struct CertificateEndsTests {
    @Test func theRootsAreKnownFromTheBeginningAndApplesChainOnceItWasSeen() throws {
        let forge = try Forge()
        let verifier = try forge.verifier { _ in }
        let before = CertificateEnds(of: verifier).ends
        #expect(before[.root] == verifier.roots.descriptions.map(\.notAfter).min())
        #expect(before.count == 1)
        let jws = try forge.sign(Forge.transaction())
        let verified = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: Forge.now)
        let ends = CertificateEnds(of: verifier).ends
        #expect(ends[.leaf] == verified.chain.links[0].notAfter)
        #expect(ends[.intermediate] == verified.chain.links[1].notAfter)
        #expect(ends[.root] == before[.root])
    }

    @Test func ofSeveralTheFirstThatEndsCountsAndIsShown() throws {
        let metrics = Metrics()
        let ends = CertificateEnds(roots: .apple, chains: [])
        #expect(ends.ends == [.root: TrustedRoots.apple.descriptions[0].notAfter])
        ends.show(in: metrics)
        let shown = metrics.gauge(
            "holdfast_apple_certificate_end_timestamp_seconds", "", labels: ["kind": "root"])
        // Apple Root CA - G3 ends on 2039-04-30.
        check((2_187_734_400..<2_187_820_800).contains(shown.value), "\(shown.value)")
        check(!metrics.exposition().contains("leaf"))
    }

    @Test func whatIsForgedIsNotSeen() throws {
        let (forge, other) = (try Forge(), try CertificateAuthority(makingAt: Forge.now))
        let verifier = try forge.verifier { _ in }
        let jws = try forge.sign(Forge.transaction(), x5c: other.chain, key: other.leaf.key)
        let verdict = failure {
            _ = try verifier.verify(Array(jws.utf8)[...], as: TransactionPayload.self, now: Forge.now)
        }
        #expect(verdict != nil)
        #expect(CertificateEnds(of: verifier).ends[.leaf] == nil)
    }
}
