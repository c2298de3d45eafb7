import AppStore
import JSON
import Runtime
import TestSupport
import Testing

/// `holdfast api`, as people and scripts call it.
@Suite(.timeLimit(.minutes(6))) struct APICommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("api-command") }

    /// Runs the command against `server`; Redis is out of reach, so that it counts alone.
    private func holdfast(
        _ arguments: String..., server: ScriptedServer? = nil, key: String? = nil
    ) async throws -> Command.Result {
        let keyFile = try folder.write(key ?? SigningKey().pem(), to: "AuthKey.p8")
        let url = server?.url ?? "http://127.0.0.1:1"
        let settings = try folder.write(
            """
            {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1,
              "serverAPI":{"keyId":"K","issuerId":"I","privateKeyFile":"\(keyFile)"}}},
             "appStoreAPI":{"productionURL":"\(url)","sandboxURL":"\(url)","patience":{"support":"2s"}},
             "keys":{"b":{"secret":"0123456789abcdef0123","scopes":["read"]}},"spool":{"folder":"\(folder.path)"},
             "redis":{"port":1}}
            """, to: "holdfast.json")
        return try await Command.run(
            try ChildProcess.product("holdfast"), ["api"] + arguments + ["--settings", settings])
    }

    @Test func theListNamesEveryEndpoint() async throws {
        let result = try await Command.run(try ChildProcess.product("holdfast"), ["api", "--list", "--json"])
        #expect(result.status == 0)
        let names = try JSONValue.parse(Array(result.output.utf8)).array?.compactMap { $0["name"]?.string }
        #expect(names == ServerAPIEndpoint.allCases.map(\.name))
        let text = try await Command.run(try ChildProcess.product("holdfast"), ["api", "--list"])
        check(ServerAPIEndpoint.allCases.allSatisfy { text.output.contains($0.path) })
    }

    @Test(arguments: EndpointTests.cases) func everyEndpointCanBeCalled(_ one: EndpointTests.Case) async throws {
        let text = one.answer.isEmpty || one.answer.hasPrefix("{") ? one.answer : try fixture(one.answer)
        let server = try ScriptedServer { _ in answer(text.isEmpty ? 202 : 200, text) }
        // Each parameter that is needed, in the order of the table.
        var path: [String] = []
        var options: [String] = []
        for field in one.endpoint.fields {
            let sample =
                switch field.kind {
                case .integer(let range): "\(range.lowerBound)"
                case .boolean: "true"
                case .date: "2026-11-30T00:00:00Z"
                case .uuid, .uuidOrEmpty, .requestIdentifier: "7389a31a-fb6d-4569-a2a6-db7d85d84813"
                case .choice(let words): words[0]
                case .text: "USA"
                }
            if field.place == .path { path.append(sample) } else { options += ["--\(field.name)", sample] }
        }
        // Apple takes only one of them.
        if one.endpoint == .notifications, let place = options.firstIndex(of: "--transactionId") {
            options.removeSubrange(place..<(place + 2))
        }
        let rest = one.endpoint.pageKey == nil ? ["--json"] : ["--json", "--pages", "1"]
        let result = try await run([one.endpoint.name] + path + options + rest, server)
        // The samples are signed by nobody and name another app.
        let isForeign = text.contains("\"signed") || text.contains("\"bundleId\"")
        #expect(result.status == (isForeign ? 1 : 0), "\(result.output)")
        let request = Request(try #require(server.exchanges.first).request)
        #expect(request.line.hasPrefix(one.endpoint.method.rawValue))
        for option in options where option.hasPrefix("--") {
            check(request.line.contains(option.dropFirst(2)) || request.body.contains(option.dropFirst(2)), option)
        }
        if !text.isEmpty { #expect(result.output.contains(text)) }
    }

    private func run(_ arguments: [String], _ server: ScriptedServer) async throws -> Command.Result {
        let keyFile = try folder.write(SigningKey().pem(), to: "AuthKey.p8")
        let settings = try folder.write(
            """
            {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1,
              "serverAPI":{"keyId":"K","issuerId":"I","privateKeyFile":"\(keyFile)"}}},
             "appStoreAPI":{"productionURL":"\(server.url)"},"redis":{"port":1},
             "keys":{"b":{"secret":"0123456789abcdef0123","scopes":["read"]}},"spool":{"folder":"\(folder.path)"}}
            """, to: "holdfast.json")
        return try await Command.run(
            try ChildProcess.product("holdfast"), ["api"] + arguments + ["--settings", settings])
    }

    @Test func exitCodesTellWhatToDo() async throws {
        let missing = try ScriptedServer { _ in
            answer(404, #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#)
        }
        let refused = try await holdfast("transaction", "1", server: missing)
        #expect(refused.status == 1)
        #expect(refused.output.contains("404 4040010 TransactionIdNotFound: Transaction id not found."))
        #expect(refused.output.contains("--sandbox"))
        let asJSON = try await holdfast("transaction", "1", "--json", server: missing)
        #expect(asJSON.output.contains(#""errorCode":4040010,"name":"TransactionIdNotFound""#))
        #expect(try await holdfast("transaction", "1").status == 3)
        let down = try ScriptedServer { _ in answer(503) }
        #expect(try await holdfast("transaction", "1", server: down).status == 3)
        #expect(down.exchanges.count == 1)
    }

    @Test func mistakesAreSaidBeforeAnythingIsAsked() async throws {
        let server = try ScriptedServer { _ in answer(500) }
        for (arguments, said) in [
            (["transaction"], "takes transactionId"), (["transaction", "1", "2"], "takes transactionId"),
            (["transction", "1"], "did you mean transaction?"), (["statuses", "1", "--status", "9"], "from 1 to 5"),
            (["transaction", "1", "--status", "1"], "has no parameter"),
            (["transaction", ".."], "transactionId must be"),
            (["history", "1", "--sort", "up"], "ASCENDING"),
            (["history", "1", "--srot", "up"], "did you mean --sort?"),
            (["transaction", "1", "--pages", "2"], "goes with lists"), (["history", "--resume", "x"], "no position"),
            (["transaction", "1", "--environment", "xcode"], "production or sandbox"), ([], "name an endpoint"),
            (["transaction", "1", "--decode"], "--json"), (["transaction", "1", "--app", "other"], "only demo"),
        ] {
            let result = try await run(arguments, server)
            #expect(result.status == 2, "\(arguments)")
            check(result.output.contains(said), "\(arguments): \(result.output)")
        }
        #expect(server.exchanges.isEmpty)
    }

    @Test func aListIsReadToItsEndAndResumed() async throws {
        let server = try ScriptedServer { exchange in
            let line = Request(exchange.request).line
            let page = line.contains("revision=r2") ? 2 : line.contains("revision=r1") ? 1 : 0
            return answer(
                200, #"{"revision":"r\#(page + 1)","hasMore":\#(page < 2),"signedTransactions":["t\#(page)"]}"#)
        }
        let first = try await run(["history", "1", "--sort", "ASCENDING", "--pages", "1", "--json"], server)
        // Nothing is signed in it, which is another matter.
        #expect(first.status == 1)
        let offer = try #require(first.output.split(separator: "--resume '").last)
        let position = String(offer.prefix { $0 != "'" })
        let rest = try await run(["history", "--resume", position, "--json"], server)
        #expect(rest.status == 1)
        check(!first.output.contains("t1") && rest.output.contains("t1") && rest.output.contains("t2"))
        #expect(server.exchanges.count == 3)
        check(server.exchanges.allSatisfy { $0.request.contains("?sort=ASCENDING") })
    }

    @Test func aKeyThatIsNoneIsNamedAtTheStart() async throws {
        let wrongCurve = try SigningKey(generating: .p384).pem()
        for key in ["", "not a key", wrongCurve, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            let result = try await holdfast("transaction", "1", key: key)
            #expect(result.status == 2)
            check(result.output.contains("apps.demo.serverAPI.privateKeyFile: "), result.output)
            check(result.output.contains("AuthKey_….p8"), result.output)
        }
    }

    @Test func aKeyIsComplainedAboutUnderTheNameItWasGivenByAndOnce() async throws {
        func problems(_ members: String, _ environment: String = "") async throws -> [String] {
            let settings = try folder.write(
                """
                {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1,
                  "serverAPI":{"keyId":"K","issuerId":"I"\(members)}}},
                 "keys":{"b":{"secret":"0123456789abcdef0123"}},"spool":{"folder":"\(folder.path)"}}
                """, to: "keys.json")
            let program = try ChildProcess.product("holdfast")
            let result = try await Command.run(
                "/bin/sh", ["-c", "\(environment) exec '\(program)' settings --settings '\(settings)'"])
            return result.output.split(separator: "\n").filter { $0.hasPrefix("holdfast: ") }.map(String.init)
        }
        let inline = try await problems(#","privateKey":"no key""#)
        #expect(inline.count == 1)
        check(inline.first?.hasPrefix("holdfast: settings: apps.demo.serverAPI.privateKey: ") == true, "\(inline)")
        check(inline.first?.contains("the text of the AuthKey_….p8 file") == true, "\(inline)")
        let unreadable = try await problems(#","privateKeyFile":"/nowhere""#)
        #expect(
            unreadable == [
                "holdfast: settings: apps.demo.serverAPI.privateKeyFile: cannot be read: open /nowhere: No such file or directory"
            ])
        let variable = "HOLDFAST_APPS_DEMO_SERVER_API_PRIVATE_KEY"
        let fromEnvironment = try await problems("", "\(variable)=x")
        #expect(fromEnvironment.count == 1)
        check(fromEnvironment.first?.hasPrefix("holdfast: settings: \(variable): ") == true, "\(fromEnvironment)")
    }

    @Test func anAppWithoutAKeyIsFineUntilAppleIsAsked() async throws {
        let settings = try folder.write(
            """
            {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1}},
             "keys":{"b":{"secret":"0123456789abcdef0123","scopes":["read"]}},"spool":{"folder":"\(folder.path)"}}
            """, to: "plain.json")
        let program = try ChildProcess.product("holdfast")
        #expect(try await Command.run(program, ["settings", "--settings", settings]).status == 0)
        let result = try await Command.run(program, ["api", "transaction", "1", "--settings", settings])
        #expect(result.status == 2)
        #expect(result.output.contains("set apps.demo.serverAPI.keyId, .issuerId and .privateKeyFile"))
        let half = try folder.write(
            """
            {"apps":{"demo":{"bundleId":"com.example.demo","appAppleId":1,"serverAPI":{"keyId":"K"}}},
             "keys":{"b":{"secret":"0123456789abcdef0123","scopes":["read"]}},"spool":{"folder":"\(folder.path)"}}
            """, to: "half.json")
        let told = try await Command.run(program, ["settings", "--settings", half])
        #expect(told.status == 2)
        for field in ["serverAPI.issuerId", "serverAPI.privateKeyFile"] {
            check(told.output.contains("apps.demo.\(field): is needed too"), told.output)
        }
    }
}
