internal import CCrypto

/// What of a certificate concerns revocation.
extension Certificate {
    /// Where its issuer says to ask whether it is revoked: the first http or https address among the few that are
    /// looked at. Only a certificate whose chain was verified may be asked for it: an address out of an unverified
    /// header would let anybody make us send requests wherever they like.
    var ocspAddress: String? {
        defer { ERR_clear_error() }
        for index in 0..<4 {
            guard let text = unsafe hf_ocsp_address(pointer, Int32(index)) else { return nil }
            defer { unsafe hf_free_text(text) }
            let address = unsafe String(cString: text)
            let lowered = address.lowercased()
            if address.utf8.count <= 1024, lowered.hasPrefix("http://") || lowered.hasPrefix("https://") {
                return address
            }
        }
        return nil
    }

    /// Whether it was made for signing OCSP answers: the extended key usage must say so, silence is no permission.
    var maySignOCSP: Bool {
        let uses = unsafe X509_get_extended_key_usage(pointer)
        return flags & UInt32(EXFLAG_XKUSAGE) != 0 && uses & UInt32(XKU_OCSP_SIGN) != 0 && !forbidsSigningData
            && !hasUnknownCriticalExtension
    }

    /// Whether its key is of at least the strength of RSA with 2048 bits.
    var hasStrongKey: Bool {
        guard let key = unsafe X509_get0_pubkey(pointer) else { return false }
        return unsafe EVP_PKEY_get_security_bits(key) >= 112
    }
}
