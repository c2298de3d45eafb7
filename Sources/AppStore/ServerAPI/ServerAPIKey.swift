package import Runtime

/// An In-App Purchase key of App Store Connect: who may call the App Store Server API.
package struct ServerAPIKey: Sendable {
    package let keyID: String
    package let issuerID: String
    package let key: SigningKey

    package init(keyID: String, issuerID: String, key: SigningKey) {
        self.keyID = keyID
        self.issuerID = issuerID
        self.key = key
    }

    /// ## Keys, each relative to an app of `apps`
    /// - `serverAPI.keyId`, `serverAPI.issuerId`: as App Store Connect shows them beside the key.
    /// - `serverAPI.privateKeyFile` (or `serverAPI.privateKey`): the `.p8` file.
    ///
    /// nil when none is given, which is fine: only what asks Apple needs one; or when it is wrong, which is reported.
    package static func read(_ settings: inout SettingsReader) -> ServerAPIKey? {
        let keyID = settings.optionalString(
            "serverAPI.keyId",
            "Key id of the In-App Purchase key (App Store Connect: Users and Access, Integrations, In-App Purchase).")
        let issuerID = settings.optionalString("serverAPI.issuerId", "Issuer id, shown above the list of those keys.")
        let secret = settings.secret(
            "serverAPI.privateKey", "The key itself: the text of the AuthKey_….p8 file that was downloaded once.")
        guard keyID != nil || issuerID != nil || secret != nil else { return nil }
        let isFileGiven = settings.isGiven("serverAPI.privateKeyFile")
        for (name, isMissing) in [
            ("serverAPI.keyId", keyID?.isEmpty ?? !settings.isGiven("serverAPI.keyId")),
            ("serverAPI.issuerId", issuerID?.isEmpty ?? !settings.isGiven("serverAPI.issuerId")),
            ("serverAPI.privateKeyFile", secret == nil && !isFileGiven && !settings.isGiven("serverAPI.privateKey")),
        ] where isMissing {
            settings.complain(
                about: name, "is needed too; keyId, issuerId and privateKeyFile go together, or leave all three out")
        }
        guard let keyID, let issuerID, let secret else { return nil }
        do throws(SigningError) {
            let key = try SigningKey(pem: secret.value)
            if key.curve == .p256 { return ServerAPIKey(keyID: keyID, issuerID: issuerID, key: key) }
            complain(&settings, "the key is not on P-256")
        } catch {
            complain(&settings, error.description)
        }
        return nil
    }

    private static func complain(_ settings: inout SettingsReader, _ reason: String) {
        let remedy =
            settings.isGiven("serverAPI.privateKeyFile")
            ? "name the AuthKey_….p8 file" : "give the text of the AuthKey_….p8 file, its line breaks written \\n,"
        settings.complain(
            aboutSecret: "serverAPI.privateKey",
            "\(reason); \(remedy) as App Store Connect gave it (PKCS#8, P-256, not encrypted)")
    }
}
