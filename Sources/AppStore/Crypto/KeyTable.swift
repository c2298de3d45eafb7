internal import CCrypto

/// Multiples of one public key on P-256, computed beforehand: with them OpenSSL multiplies the key as fast as the curve's
/// own generator, for which it has such a table built in. A verification then costs half.
///
/// OpenSSL makes a table only for the generator of a group. So the key is made the generator of a group of its own, and
/// the two multiplications of ECDSA are done in one group each; the arithmetic is OpenSSL's, its order FIPS 186-5's.
///
/// `@unchecked Sendable`: nothing changes the groups after `init`, and OpenSSL allows any number of threads to read them.
@safe
package final class KeyTable: @unchecked Sendable {
    private let curve: OpaquePointer
    /// The same curve, with the key as its generator.
    private let own: OpaquePointer

    package convenience init?(_ key: VerifyingKey) { self.init(key.key) }

    /// Takes some 20 ms and 150 kB. Nil if the key is on another curve or OpenSSL cannot.
    init?(_ key: Key) {
        defer { ERR_clear_error() }
        guard key.curve == .p256, let encoded = Self.encodedPoint(of: key),
            let curve = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        else { return nil }
        guard let own = unsafe EC_GROUP_dup(curve) else {
            unsafe EC_GROUP_free(curve)
            return nil
        }
        unsafe self.curve = unsafe curve
        unsafe self.own = unsafe own
        guard let point = unsafe EC_POINT_new(curve) else { return nil }
        defer { unsafe EC_POINT_free(point) }
        guard unsafe EC_POINT_oct2point(curve, point, encoded, encoded.count, nil) == 1,
            unsafe EC_GROUP_set_generator(own, point, EC_GROUP_get0_order(curve), EC_GROUP_get0_cofactor(curve)) == 1,
            unsafe hf_precompute_multiples(own) == 1
        else { return nil }
    }

    deinit {
        unsafe EC_GROUP_free(own)
        unsafe EC_GROUP_free(curve)
    }

    private static func encodedPoint(of key: Key) -> [UInt8]? {
        var point = [UInt8](repeating: 0, count: 65)
        var length = 0
        guard
            unsafe EVP_PKEY_get_octet_string_param(key.pointer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &length)
                == 1
        else { return nil }
        return Array(point.prefix(length))
    }

    /// Whether `signature` (r‖s, 64 bytes) fits the digest. "No" may also mean that OpenSSL had no memory left.
    package func accepts(_ signature: [UInt8], ofDigest digest: [UInt8]) -> Bool {
        guard signature.count == ECDSASignature.es256Size, digest.count == SHA256.byteCount,
            let numbers = unsafe BN_CTX_new()
        else { return false }
        defer { unsafe BN_CTX_free(numbers) }
        unsafe BN_CTX_start(numbers)
        defer { unsafe BN_CTX_end(numbers) }
        guard let r = unsafe BN_CTX_get(numbers), let s = unsafe BN_CTX_get(numbers),
            let e = unsafe BN_CTX_get(numbers), let x = unsafe BN_CTX_get(numbers),
            let order = unsafe EC_GROUP_get0_order(curve),
            let one = unsafe EC_POINT_new(curve)
        else { return false }
        defer { unsafe EC_POINT_free(one) }
        guard let other = unsafe EC_POINT_new(curve) else { return false }
        defer { unsafe EC_POINT_free(other) }

        let isRead = unsafe signature.withUnsafeBufferPointer { bytes in
            unsafe BN_bin2bn(bytes.baseAddress, 32, r) != nil
                && BN_bin2bn(bytes.baseAddress.map { unsafe $0 + 32 }, 32, s) != nil
        }
        // Both in 1 ..< order.
        guard isRead, unsafe BN_bin2bn(digest, 32, e) != nil,
            unsafe BN_is_zero(r) == 0, unsafe BN_is_zero(s) == 0,
            unsafe BN_cmp(r, order) < 0, unsafe BN_cmp(s, order) < 0
        else { return false }
        // s⁻¹, then e·s⁻¹ times the generator plus r·s⁻¹ times the key: its x is r.
        guard unsafe BN_mod_inverse(s, s, order, numbers) != nil,
            unsafe BN_mod_mul(e, e, s, order, numbers) == 1, unsafe BN_mod_mul(s, r, s, order, numbers) == 1,
            unsafe EC_POINT_mul(curve, one, e, nil, nil, numbers) == 1,
            unsafe EC_POINT_mul(own, other, s, nil, nil, numbers) == 1,
            unsafe EC_POINT_add(curve, one, one, other, numbers) == 1,
            unsafe EC_POINT_is_at_infinity(curve, one) == 0,
            unsafe EC_POINT_get_affine_coordinates(curve, one, x, nil, numbers) == 1,
            unsafe BN_nnmod(x, x, order, numbers) == 1
        else { return false }
        return unsafe BN_cmp(x, r) == 0
    }
}
