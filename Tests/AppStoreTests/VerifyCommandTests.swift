import AppStore
import JSON
import TestSupport
import Testing

/// The command as scripts call it.
@Suite struct VerifyCommandTests {
    let fixtures = "\(Command.packageFolder)/Tests/AppStoreTests/Fixtures"

    func holdfast(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(try ChildProcess.product("holdfast"), ["verify"] + arguments)
    }

    @Test func applesTestNotificationVerifiesAgainstItsOwnRoot() async throws {
        let result = try await holdfast("--root", "\(fixtures)/testCA.der", "\(fixtures)/testNotification")
        #expect(result.status == 0)
        #expect(result.output.contains("a notification, signed under the given root"))
    }

    @Test func applesTestNotificationIsRefusedAgainstApplesRoot() async throws {
        let result = try await holdfast("--json", "\(fixtures)/testNotification")
        #expect(result.status == 1)
        let value = try JSONValue.parse(Array(result.output.utf8))
        #expect(value["fine"]?.bool == false)
        #expect(value["parts"]?.array?.first?["problems"]?.array?.first?["code"]?.string == "notTrusted")
    }

    @Test func aReceiptIsToldApartAndItsCommandIsNamed() async throws {
        let program = try ChildProcess.product("holdfast")
        let forge = try ReceiptForge()
        let der = try forge.sign(ReceiptForge.builder().payload)
        for input in [der, Array(Base64.encode(der).utf8), Array(Base64.encode(Array(Base64.encode(der).utf8)).utf8)] {
            let result = try await Command.run(program, ["verify", "-"], socketInput: input)
            #expect(result.status == 1)
            check(
                result.output.contains("it looks like a receipt, not like a JWS: see holdfast receipt"), result.output)
        }
        // DER of another kind is no receipt.
        let root = try await holdfast("\(fixtures)/testCA.der")
        check(!root.output.contains("receipt"), root.output)
    }

    @Test func whatEndsAtAnotherRootIsHintedAt() async throws {
        let result = try await holdfast("\(fixtures)/testNotification")
        #expect(result.status == 1)
        check(result.output.contains("  hint     if that root is to count"), result.output)
        check(result.output.contains("--root FILE"), result.output)
        let fine = try await holdfast("--root", "\(fixtures)/testCA.der", "\(fixtures)/testNotification")
        check(!fine.output.contains("hint"), fine.output)
    }

    @Test func aPipeIsReadAsAnyFile() async throws {
        let program = try ChildProcess.product("holdfast")
        for command in [
            "'\(program)' verify --root '\(fixtures)/testCA.der' /dev/stdin < '\(fixtures)/testNotification'",
            "cat '\(fixtures)/testNotification' | '\(program)' verify --root '\(fixtures)/testCA.der' /dev/stdin",
            "'\(program)' verify --root '\(fixtures)/testCA.der' <(cat '\(fixtures)/testNotification')",
        ] {
            let result = try await Command.run("/bin/bash", ["-c", command])
            #expect(result.status == 0, "\(command): \(result.output)")
        }
    }

    @Test func whatIsAskedForIsChecked() async throws {
        let root = ["--root", "\(fixtures)/testCA.der"]
        let file = "\(fixtures)/testNotification"
        #expect(try await holdfast(root[0], root[1], "--bundle-id=com.example", file).status == 0)
        #expect(try await holdfast(root[0], root[1], "--bundle-id=com.other", file).status == 1)
        #expect(try await holdfast(root[0], root[1], "--environment", "production", file).status == 1)
        #expect(try await holdfast(root[0], root[1], "--at", "2020-01-01T00:00:00Z", file).status == 1)
    }

    @Test func dataOfALocalTestIsReadWhenAskedFor() async throws {
        let jws = Array(try Forge.xcode(XcodeSignedTests.transaction).utf8)
        let product = try ChildProcess.product("holdfast")
        let plain = try await Command.run(product, ["verify", "-"], socketInput: jws)
        #expect(plain.status == 1)
        #expect(plain.output.contains("signed by Xcode or another local test"))
        let local = try await Command.run(product, ["verify", "--xcode", "--json", "-"], socketInput: jws)
        #expect(local.status == 0)
        let value = try JSONValue.parse(Array(local.output.utf8))
        #expect(value["parts"]?.array?.first?["signer"]?.string == "localTest")
        #expect(value["parts"]?.array?.first?["members"]?.array?.isEmpty == false)
        let mixed = try await Command.run(
            product, ["verify", "--xcode", "--environment", "sandbox", "-"], socketInput: jws)
        #expect(mixed.status == 2)
    }

    @Test func mistakesOfUsageAreToldApart() async throws {
        #expect(try await holdfast().status == 2)
        #expect(try await holdfast("/nonexistent/file").status == 2)
        #expect(try await holdfast("--at", "today", "\(fixtures)/testNotification").status == 2)
        #expect(try await holdfast("--root", "\(fixtures)/README.md", "\(fixtures)/testNotification").status == 2)
        #expect(try await holdfast("--bundel-id", "x", "\(fixtures)/testNotification").status == 2)
        #expect(try await holdfast("--help").status == 0)
    }

    @Test func standardInputMayBeASocket() async throws {
        let result = try await Command.run(
            try ChildProcess.product("holdfast"), ["verify", "-"], socketInput: Array("a.b.c".utf8))
        #expect(result.status == 1)
        #expect(result.output.contains("not strict base64url"))
    }
}
