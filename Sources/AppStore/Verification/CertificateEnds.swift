package import Runtime
package import Time

/// When the certificates end on which all verification rests: the trusted roots, and those that Apple signs with now.
package struct CertificateEnds: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Of the settings or built in: when Apple moves to another root, it must be added here.
        case root
        case intermediate
        case leaf
    }

    /// The earliest of each kind; none for a kind of which no certificate was seen lately.
    package let ends: [Kind: Timestamp]

    package init(of verifier: JWSVerifier) {
        self.init(roots: verifier.roots, chains: verifier.chainsInUse)
    }

    init(roots: TrustedRoots, chains: [VerifiedChain]) {
        var ends: [Kind: Timestamp] = [:]
        ends[.root] = roots.descriptions.map(\.notAfter).min()
        // Leaf, intermediate, root.
        ends[.leaf] = chains.compactMap(\.links.first?.notAfter).min()
        ends[.intermediate] = chains.compactMap { $0.links.dropFirst().first?.notAfter }.min()
        self.ends = ends
    }

    /// Of a kind of which none was seen lately the last end stays.
    package func show(in metrics: Metrics) {
        for (kind, end) in ends {
            metrics.gauge(
                "holdfast_apple_certificate_end_timestamp_seconds",
                "When the first certificate ends of the roots that are trusted, and of those that Apple signs with.",
                labels: ["kind": kind.rawValue]
            ).set(Double(end.milliseconds) / 1000)
        }
    }
}
