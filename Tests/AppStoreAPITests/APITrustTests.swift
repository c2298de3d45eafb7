import AppStore
import JSON
import Runtime
import TestSupport
import Testing
import Time

/// What `holdfast api` says of answers that are not what was asked for, and what they mean.
@Suite(.timeLimit(.minutes(6))) struct APITrustTests {
    private let folder: TemporaryFolder
    private let authority: CertificateAuthority
    private let now = WallClock.system.now()

    init() throws {
        folder = try TemporaryFolder("api-trust")
        authority = try CertificateAuthority(makingAt: now)
        try folder.write(authority.rootDER, to: "root.der")
        try folder.write(SigningKey().pem(), to: "AuthKey.p8")
    }

    /// Runs the command before servers of the test's own; Redis is out of reach, so that it counts alone.
    private func holdfast(
        _ arguments: String..., production: ScriptedServer, sandbox: ScriptedServer? = nil, api: String = ""
    ) async throws -> Command.Result {
        let settings = try folder.write(
            """
            {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1,
              "serverAPI":{"keyId":"K","issuerId":"I","privateKeyFile":"\(folder.file("AuthKey.p8"))"}}},
             "appStore":{"roots":["\(folder.file("root.der"))"]},
             "appStoreAPI":{"productionURL":"\(production.url)","sandboxURL":"\(sandbox?.url ?? production.url)"\(api)},
             "keys":{"b":{"secret":"0123456789abcdef0123","scopes":["read"]}},"spool":{"folder":"\(folder.path)"},
             "redis":{"port":1}}
            """, to: "holdfast.json")
        return try await Command.run(
            try ChildProcess.product("holdfast"), ["api"] + arguments + ["--settings", settings])
    }

    private func transaction(
        _ id: String = "1", bundleID: String = "com.example.demo", environment: String = "Production",
        by other: CertificateAuthority? = nil
    ) throws -> String {
        let payload = """
            {"transactionId":"\(id)","originalTransactionId":"1","bundleId":"\(bundleID)","productId":"pro\u{202E}.monthly",\
            "purchaseDate":\(now.milliseconds),"expiresDate":\(now.milliseconds + 86_400_000),"offerType":1,"price":9990,\
            "signedDate":\(now.milliseconds),"environment":"\(environment)","type":"Auto-Renewable Subscription"}
            """
        let signer = other ?? authority
        return try SignedJWS.make(
            header: SignedJWS.header(x5c: signer.chain), payload: Array(payload.utf8), key: signer.leaf.key)
    }

    private func history(_ transactions: [String], _ members: String) throws -> ScriptedServer {
        let list = transactions.map { "\"\($0)\"" }.joined(separator: ",")
        return try ScriptedServer { _ in
            answer(200, #"{"revision":"r","hasMore":false,\#(members),"signedTransactions":[\#(list)]}"#)
        }
    }

    private static let ours = #""bundleId":"com.example.demo","appAppleId":1,"environment":"Production""#

    @Test(arguments: [
        (#""bundleId":"com.other","appAppleId":1,"environment":"Production""#, #"it is for "com.other", not for "#),
        (#""bundleId":"com.example.demo","appAppleId":2,"environment":"Production""#, "it is for the app 2, not for 1"),
        (#""bundleId":"com.example.demo","environment":"Sandbox""#, #"it is from "Sandbox", and Production was asked"#),
        (#""bundleId":"com.example.demo","environment":"Xcode""#, #"it is from "Xcode", and Production was asked"#),
        (#""bundleId":7,"environment":"Production""#, "it is for 7, not for"),
    ])
    func aPageThatNamesAnotherAppOrEnvironmentIsSaidToAndFails(_ members: String, _ said: String) async throws {
        let server = try history([try transaction()], members)
        for options in [[], ["--json"], ["--json", "--decode"]] {
            let result =
                switch options.count {
                case 0: try await holdfast("history", "1", production: server)
                case 1: try await holdfast("history", "1", options[0], production: server)
                default: try await holdfast("history", "1", options[0], options[1], production: server)
                }
            #expect(result.status == 1, "\(result.output)")
            check(result.output.contains("holdfast: NOT TO BE TRUSTED: \(said)"), result.output)
        }
    }

    @Test func aPageOfThisAppIsFine() async throws {
        let server = try history([try transaction("1"), try transaction("2")], Self.ours)
        let result = try await holdfast("history", "1", production: server)
        #expect(result.status == 0)
        check(!result.output.contains("NOT TO BE TRUSTED"), result.output)
    }

    @Test func aForgedTransactionIsSaidToBeOneAndFails() async throws {
        let stranger = try CertificateAuthority(makingAt: now)
        for forged in [
            try transaction("2", by: stranger), try transaction("2", bundleID: "com.other"),
            try transaction("2", environment: "Sandbox"), "x",
        ] {
            let server = try history([try transaction(), forged], Self.ours)
            let plain = try await holdfast("history", "1", production: server)
            let json = try await holdfast("history", "1", "--json", production: server)
            for result in [plain, json] {
                #expect(result.status == 1)
                check(
                    result.output.contains("holdfast: NOT TO BE TRUSTED: signedTransactions[1]: "), result.output)
                check(!result.output.contains("signedTransactions[0]: "), result.output)
            }
        }
    }

    @Test func whatFailsOnTheWayMayBeTriedLater() async throws {
        let moved = try ScriptedServer { _ in answer(302, "", "Location: http://127.0.0.1:1/") }
        #expect(try await holdfast("transaction", "1", production: moved).status == 3)
        let large = try ScriptedServer { _ in answer(200, String(repeating: " ", count: 2000)) }
        let limit = #","responseBytes":1024"#
        let oversized = try await holdfast("transaction", "1", production: large, api: limit)
        #expect(oversized.status == 3)
        check(oversized.output.contains("the answer exceeds 1024 bytes"), oversized.output)
        let absurd = String(repeating: "t", count: 10_000)
        let server = try ScriptedServer { _ in
            answer(200, #"{"revision":"\#(absurd)","hasMore":true,"signedTransactions":[]}"#)
        }
        let paging = try await holdfast("history", "1", production: server)
        #expect(paging.status == 3)
        check(paging.output.contains("the token that says where is none: 10000 bytes"), paging.output)
        // The answer itself is shown as it came; what is said of it is short.
        check(paging.output.split(separator: "\n").allSatisfy { !$0.hasPrefix("holdfast:") || $0.utf8.count < 1000 })
        let unauthorized = try ScriptedServer { _ in answer(401) }
        #expect(try await holdfast("transaction", "1", production: unauthorized).status == 1)
    }

    @Test func numbersAreGivenTheirWordsAsVerifyGivesThem() async throws {
        let signed = try transaction()
        let body = """
            {\(Self.ours),"data":[{"lastTransactions":[{"status":1,"signedTransactionInfo":"\(signed)"},{"status":77}]}]}
            """
        let statuses = try await holdfast("statuses", "1", production: try ScriptedServer { _ in answer(200, body) })
        #expect(statuses.status == 0, "\(statuses.output)")
        let file = try folder.write(signed, to: "transaction.jws")
        let verified = try await Command.run(
            try ChildProcess.product("holdfast"), ["verify", "--root", folder.file("root.der"), file])
        for (name, words) in [
            ("status", "1  (active)"), ("status", "77  (not known to this version)"),
            ("price", "9990  (9.990)"), ("offerType", "1  (introductory)"),
            ("expiresDate", "\(now.milliseconds + 86_400_000)  (\((now + .seconds(86_400)).rfc3339))"),
        ] {
            check(statuses.output.contains("\(name): \(words)"), "\(name): \(statuses.output)")
            if name != "status" { check(verified.output.contains(words), "\(name): \(verified.output)") }
        }
        let extended = try await holdfast(
            "extend", "1", "--extendByDays", "1", "--extendReasonCode", "1", "--requestIdentifier", "x",
            production: try ScriptedServer { _ in
                answer(200, #"{"success":true,"effectiveDate":1795448000000}"#)
            })
        check(extended.output.contains("effectiveDate: 1795448000000  (2026-11-23T15:33:20.000Z)"), extended.output)
        let order = try await holdfast(
            "order", "1",
            production: try ScriptedServer { _ in answer(200, #"{"status":1,"signedTransactions":[]}"#) })
        check(order.output.contains("status: 1  (invalid)"), order.output)
        let fate = try await holdfast(
            "test-notification-status", "1",
            production: try ScriptedServer { _ in
                answer(200, #"{"sendAttempts":[{"attemptDate":1795448000000,"sendAttemptResult":"TIMED_OUT"}]}"#)
            })
        check(fate.output.contains(#"sendAttemptResult: "TIMED_OUT"  (no answer in time)"#), fate.output)
        check(fate.output.contains("attemptDate: 1795448000000  (2026-11-23T15:33:20.000Z)"), fate.output)
    }

    @Test func nothingThatComesFromElsewhereDrivesATerminal() async throws {
        let evil = "a\u{202E}b\u{9B}c\u{2066}d"
        let signed = try transaction()
        let answers = [
            answer(200, #"{"environment":"\#(evil)","\#(evil)":"\#(evil)","signedTransactionInfo":"\#(signed)"}"#),
            answer(404, #"{"errorCode":4040010,"errorMessage":"\#(evil)"}"#),
            answer(404, evil, "Content-Type: \(evil)"),
        ]
        for action in answers {
            let server = try ScriptedServer { _ in action }
            let result = try await holdfast("transaction", "1", production: server)
            #expect(result.status == 1)
            let strange = result.output.unicodeScalars.filter { $0 != "\n" && !$0.isPrintable }
            #expect(strange.isEmpty, "\(result.output.debugDescription)")
        }
    }

    @Test func findSaysInAWholeSentenceWhereATransactionIs() async throws {
        let missing = try ScriptedServer { _ in
            answer(404, #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#)
        }
        let signed = try transaction(environment: "Sandbox")
        let sandbox = try ScriptedServer { _ in answer(200, #"{"signedTransactionInfo":"\#(signed)"}"#) }
        let found = try await holdfast("find", "1", production: missing, sandbox: sandbox)
        #expect(found.status == 0)
        check(
            found.output.contains("The transaction 1 is in the sandbox, of the product pro\u{FFFD}.monthly."),
            found.output)
        let json = try await holdfast("find", "1", "--json", production: missing, sandbox: sandbox)
        check(json.output.contains(#"{"environment":"sandbox"}"#), json.output)
        let lost = try await holdfast("find", "1", production: missing, sandbox: missing)
        #expect(lost.status == 1)
        check(lost.output.contains("neither production nor the sandbox knows it (it may belong to another app)"))
        // Both have been asked already.
        check(!lost.output.contains("--sandbox") && !lost.output.contains("asks both"), lost.output)
        let refused = try ScriptedServer { _ in answer(401) }
        let half = try await holdfast("find", "1", production: refused, sandbox: missing)
        check(half.output.contains("the sandbox does not know it, and production does not take the key (401)"))
        // A transaction of production that the sandbox's server shows is nobody's.
        let wrong = try ScriptedServer { [production = try transaction()] _ in
            answer(200, #"{"signedTransactionInfo":"\#(production)"}"#)
        }
        let forged = try await holdfast("find", "1", production: missing, sandbox: wrong)
        #expect(forged.status == 1)
        check(forged.output.contains("NOT TO BE TRUSTED: signedTransactionInfo: it is from production"), forged.output)
        let both = try await holdfast("find", "1", "--sandbox", production: missing)
        #expect(both.status == 2)
        check(both.output.contains("find asks both environments"), both.output)
    }
}
