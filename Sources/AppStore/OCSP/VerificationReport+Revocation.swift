internal import JSON
package import Time

extension VerificationReport {
    /// Asks about the certificates of every part whose chain was verified, and adds what is wrong with them by the
    /// measure of `hard`: what was not answered is a problem too, of the code `revocationUnknown`.
    package mutating func askForRevocation(_ checker: RevocationChecker, now: Timestamp) async {
        let rule = RevocationRule(mode: .hard)
        for index in parts.indices {
            let part = parts[index]
            guard let chain = part.chain else { continue }
            let statuses = await checker.statuses(of: chain)
            parts[index].revocation = statuses
            let written = part.payload?["signedDate"] ?? part.payload?["receiptCreationDate"]
            let signedAt = written?.int64.map { Timestamp(milliseconds: $0) } ?? now
            parts[index].problems += zip(chain.links, statuses).compactMap { link, status in
                rule.failure(status, of: link, signedAt: signedAt, part: part.kind?.part ?? .payload)
            }
        }
    }

    /// Whether nothing is wrong but that nobody could say whether a certificate is revoked.
    package var lacksOnlyRevocation: Bool {
        !isFine && parts.allSatisfy { $0.problems.allSatisfy { $0.code == .revocationUnknown } }
    }
}
