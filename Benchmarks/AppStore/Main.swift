import AppStore
import Entitlements
import Glibc
import Time

/// What verification costs beside the signatures it cannot do without; microseconds of CPU, best of 25 rounds.
///
///     HOLDFAST_BENCHMARKS=1 swift run -c release AppStoreBenchmark
@main enum AppStoreBenchmark {
    static let now = Timestamp(milliseconds: 1_795_448_000_000)
    static let identity = AppIdentity(bundleID: "com.example", appAppleID: 41234)

    static func main() throws {
        let authority = try CertificateAuthority(makingAt: now)
        let roots = try TrustedRoots(der: [authority.rootDER])
        let known = NotificationVerifier(JWSVerifier(roots: roots))
        let body = try notification(by: authority)
        let key = try authority.leaf.key.verifyingKey()
        let message = [UInt8](repeating: 1, count: 32)
        let signature = try authority.leaf.key.es256Signature(of: message)

        let raw = try cost(200) { _ = key.isES256Signature(signature, of: message[...]) }
        let intake = try cost(200) { _ = try known.intake(body, now: now) }
        let whole = try cost(200) { _ = try known.verify(body, for: identity, now: now).observation(app: AppID("a")) }
        let cold = try cost(10) {
            _ = try NotificationVerifier(JWSVerifier(roots: roots)).verify(body, for: identity, now: now)
        }
        print("a body of \(body.count) bytes")
        print("one raw P-256 verification    \(raw)")
        print("the door (one signature)      \(intake)")
        print("a whole notification          \(whole), \(Int(3 * raw / whole * 100)) % of it three raw verifications")
        print("the same with unknown chains  \(cold)")
    }

    private static func cost(_ count: Int, _ body: () throws -> Void) throws -> Double {
        var best = Double.infinity
        for _ in 0..<25 {
            var (start, end) = (timespec(), timespec())
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
            for _ in 0..<count { try body() }
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
            let nanoseconds = Double(end.tv_sec - start.tv_sec) * 1e9 + Double(end.tv_nsec - start.tv_nsec)
            best = min(best, (nanoseconds / Double(count) / 100).rounded() / 10)
        }
        return best
    }

    private static func notification(by authority: CertificateAuthority) throws -> [UInt8] {
        let ids = #""originalTransactionId":"12345","productId":"com.example.product","environment":"Production""#
        let transaction = """
            {"transactionId":"23456",\(ids),"bundleId":"com.example","purchaseDate":1795448000000,\
            "originalPurchaseDate":1795448000000,"expiresDate":1795458000000,"quantity":1,"price":10990,"currency":"USD",\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":1795448000000,\
            "appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138","transactionReason":"PURCHASE","storefront":"USA"}
            """
        let renewal = """
            {\(ids),"autoRenewProductId":"com.example.product","autoRenewStatus":1,"signedDate":1795448000000,\
            "renewalPrice":9990,"currency":"USD","renewalDate":1795458000000}
            """
        let payload = """
            {"notificationType":"DID_RENEW","notificationUUID":"002e14d5-51f5-4503-b5a8-c3a1af68eb20","version":"2.0",\
            "signedDate":1795448000000,"data":{"environment":"Production","appAppleId":41234,"bundleId":"com.example",\
            "status":1,"signedTransactionInfo":"\(try authority.sign(Array(transaction.utf8)))",\
            "signedRenewalInfo":"\(try authority.sign(Array(renewal.utf8)))"}}
            """
        return SignedBody.body(signedPayload: try authority.sign(Array(payload.utf8)))
    }
}
