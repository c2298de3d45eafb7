import AppStore
import Entitlements
import JSON
import Runtime
import Time

/// `holdfast sign KIND`: the signatures that an app needs before it offers a purchase.
enum SignCommand {
    static let summary = "signs promotional and introductory offers and Advanced Commerce requests"

    static let help = """
        usage: holdfast sign promotional-offer --product ID --offer ID [--app-account-token UUID] [--nonce UUID]
                                               [--timestamp MILLISECONDS] KEY
               holdfast sign promotional-offer-v2 --product ID --offer ID [--transaction ID] KEY
               holdfast sign introductory-offer --product ID --transaction ID --allow true|false KEY
               holdfast sign advanced-commerce FILE KEY

        Prints what the app passes to StoreKit: for promotional-offer (the original API) key id, nonce, timestamp and
        signature, for the others a JWS. FILE, or standard input if it is -, holds the request in JSON; operation says
        which one it is, version need not be given, and what is wrong with it is named.

        KEY is the In-App Purchase key from App Store Connect, as the settings have it:
          --settings FILE      the settings file; HOLDFAST_SETTINGS otherwise
          --app NAME           the app in it; may be left out if there is only one
        or, without settings:
          --key FILE           its .p8 file
          --key-id ID          its id; may be left out if the file is still called SubscriptionKey_ID.p8
          --issuer-id ID       the issuer id; promotional-offer needs none
          --bundle-id ID       the app's bundle id

          --json               answer as JSON

        Exit codes: 0 signed, 1 the request in FILE breaks Apple's rules, 2 usage.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let parsed = try CommandArguments(
            arguments,
            options: [
                "product", "offer", "app-account-token", "nonce", "timestamp", "transaction", "allow", "key", "key-id",
                "issuer-id", "bundle-id", "settings", "app",
            ],
            flags: ["json"])
        let kinds = OfferRequest.Kind.allCases.map(\.rawValue)
        guard let name = parsed.operands.first, let kind = OfferRequest.Kind(rawValue: name) else {
            throw UsageError("sign takes one of \(kinds.joined(separator: ", "))")
        }
        let signer = try signer(parsed)
        let request: OfferRequest
        if kind == .advancedCommerce {
            do { request = try advancedCommerce(parsed) } catch let error as OfferError {
                Console.error("the request cannot be signed: \(error)")
                return 1
            }
        } else {
            guard parsed.operands.count == 1 else { throw UsageError("sign \(name) takes no file") }
            request = try self.request(kind, parsed)
        }
        let signature: OfferSignature
        do throws(OfferError) { signature = try signer.sign(request, now: WallClock.system.now()) } catch {
            throw usage(error)
        }
        print(parsed.has("json") ? signature.json : text(of: signature))
        return 0
    }

    // MARK: What is signed

    /// Which option says which field.
    private static let options = [
        "productId": "product", "offerId": "offer", "appAccountToken": "app-account-token", "nonce": "nonce",
        "timestamp": "timestamp", "transactionId": "transaction", "allowIntroductoryOffer": "allow", "keyId": "key-id",
        "issuerId": "issuer-id", "bundleId": "bundle-id",
    ]

    private static func request(_ kind: OfferRequest.Kind, _ parsed: CommandArguments) throws(UsageError)
        -> OfferRequest
    {
        var object = JSONObject()
        object["kind"] = .string(kind.rawValue)
        for (field, option) in options {
            guard let text = parsed.value(option), !["keyId", "issuerId", "bundleId"].contains(field) else { continue }
            switch option {
            case "allow":
                guard let allowed = Bool(text) else { throw UsageError("--allow is true or false") }
                object[field] = .bool(allowed)
            case "timestamp":
                let range: ClosedRange<Int64> = 1...253_402_300_799_999
                object[field] = try parsed.integer("timestamp", in: range).map { .number(JSONNumber($0)) }
            default: object[field] = .string(text)
            }
        }
        do { return try OfferRequest(.object(object)) } catch { throw usage(error) }
    }

    private static func advancedCommerce(_ parsed: CommandArguments) throws -> OfferRequest {
        guard parsed.operands.count == 2 else {
            throw UsageError("name the file with the request, or - for standard input")
        }
        let path = parsed.operands[1]
        let bytes: [UInt8]
        do { bytes = try path == "-" ? File.standardInput(limit: 1 << 20) : File.bytes(at: path, limit: 1 << 20) } catch
        {
            throw UsageError("\(error)")
        }
        let value: JSONValue
        do { value = try JSONValue.parse(bytes) } catch {
            throw OfferError.invalid(field: "", "it is not JSON: \(error)")
        }
        return .advancedCommerce(try AdvancedCommerceRequest(value))
    }

    private static func usage(_ error: OfferError) -> UsageError {
        guard let field = error.field else { return UsageError(error.sentence) }
        return UsageError("--\(options[field] ?? field): \(error.sentence)")
    }

    private static func text(of signature: OfferSignature) -> String {
        guard signature.kind == .promotionalOffer else { return signature.text }
        return """
            keyId      \(signature.keyID)
            nonce      \(signature.nonce)
            timestamp  \(signature.timestamp.milliseconds)
            signature  \(signature.text)
            """
    }

    // MARK: By whom

    private static func signer(_ parsed: CommandArguments) throws -> OfferSigner {
        do {
            guard let path = parsed.value("key") else { return try configuredSigner(parsed) }
            for option in ["settings", "app"] where parsed.value(option) != nil {
                throw UsageError(
                    "--\(option) and --key exclude each other: the key is from the settings or from its file")
            }
            guard let keyID = parsed.value("key-id") ?? keyID(fromPath: path) else {
                throw UsageError("say the key's id with --key-id (App Store Connect shows it beside the key)")
            }
            guard let bundleID = parsed.value("bundle-id") else {
                throw UsageError("say the app's bundle id with --bundle-id")
            }
            let key: SigningKey
            do { key = try SigningKey(pem: try File.text(at: path, limit: 1 << 16)) } catch {
                throw UsageError("--key \(path): \(error)")
            }
            return try OfferSigner(key: key, keyID: keyID, issuerID: parsed.value("issuer-id"), bundleID: bundleID)
        } catch let error as OfferError { throw usage(error) }
    }

    private static func configuredSigner(_ parsed: CommandArguments) throws -> OfferSigner {
        for option in ["key-id", "issuer-id", "bundle-id"] where parsed.value(option) != nil {
            throw UsageError("--\(option) belongs to --key FILE; without that the settings say it")
        }
        guard var reader = try HoldfastSettings.reader(path: parsed.value("settings")) else {
            throw UsageError("name the key's .p8 file with --key, or the settings with --settings")
        }
        let settings = HoldfastSettings(&reader)
        try reader.finish()
        let names = settings.apps.map(\.id.rawValue)
        let app: AppSettings
        if let name = parsed.value("app") {
            guard let found = settings.apps.first(where: { $0.id.rawValue == name }) else {
                throw UsageError("there is no app \(name) in the settings; there is \(names.joined(separator: ", "))")
            }
            app = found
        } else {
            guard settings.apps.count == 1, let only = settings.apps.first else {
                throw UsageError("say which app with --app: \(names.joined(separator: ", "))")
            }
            app = only
        }
        guard let key = app.serverAPIKey else {
            throw UsageError(
                "the settings have no key for \(app.id.rawValue): set apps.\(app.id.rawValue).serverAPI.keyId, "
                    + "issuerId and privateKeyFile, or name one with --key")
        }
        return try OfferSigner(key: key.key, keyID: key.keyID, issuerID: key.issuerID, bundleID: app.identity.bundleID)
    }

    /// `SubscriptionKey_2X9R4HXF34.p8` is how App Store Connect names the file.
    private static func keyID(fromPath path: String) -> String? {
        let file = path.split(separator: "/").last ?? ""
        guard file.hasPrefix("SubscriptionKey_") || file.hasPrefix("AuthKey_"), file.hasSuffix(".p8") else {
            return nil
        }
        return file.dropLast(3).split(separator: "_").last.map(String.init)
    }
}
