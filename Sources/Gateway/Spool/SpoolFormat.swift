internal import Runtime

/// How a record lies in a segment, little-endian, each starting at a multiple of eight:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 4 | magic |
/// | 4 | 4 | CRC-32C of the header's bytes 8…31 |
/// | 8 | 8 | sequence |
/// | 16 | 4 | length of the attributes |
/// | 20 | 4 | length of the body |
/// | 24 | 4 | CRC-32C of attributes and body |
/// | 28 | 4 | zero |
/// | 32 | | attributes, body, zeros up to a multiple of eight |
///
/// Both checksums start from the segment's salt, so that nothing a sender puts into a body passes for a record when a
/// reader looks for the next one behind a damaged place. The header has a checksum of its own so that a damaged body
/// does not make a reader believe a damaged length.
enum SpoolFormat {
    static let magic: UInt32 = 0x3153_4648
    static let headerSize = 32
    static let alignment = 8

    struct Header: Hashable {
        var sequence: UInt64
        var attributesLength: Int
        var bodyLength: Int
        var payloadChecksum: UInt32

        /// Of the whole record, padding included.
        var recordSize: Int { SpoolFormat.recordSize(payload: attributesLength + bodyLength) }
    }

    static func recordSize(payload: Int) -> Int {
        (headerSize + payload + alignment - 1) / alignment * alignment
    }

    static func encode(_ body: [UInt8], attributes: [UInt8], sequence: UInt64, salt: UInt32, to bytes: inout [UInt8]) {
        let start = bytes.count
        let checksum = CRC32C.checksum(body[...], seed: CRC32C.checksum(attributes[...], seed: salt))
        var header: [UInt8] = []
        header.reserveCapacity(headerSize - 8)
        header.appendLittleEndian(sequence)
        header.appendLittleEndian(UInt32(clamping: attributes.count))
        header.appendLittleEndian(UInt32(clamping: body.count))
        header.appendLittleEndian(checksum)
        header.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(magic)
        bytes.appendLittleEndian(CRC32C.checksum(header[...], seed: salt))
        bytes.append(contentsOf: header)
        bytes.append(contentsOf: attributes)
        bytes.append(contentsOf: body)
        let padding = start + recordSize(payload: attributes.count + body.count) - bytes.count
        bytes.append(contentsOf: repeatElement(0, count: padding))
    }

    /// Nil unless `bytes` starts with a header that was written with this salt.
    static func header(decoding bytes: ArraySlice<UInt8>, salt: UInt32) -> Header? {
        guard bytes.count >= headerSize, bytes.littleEndian(UInt32.self, at: 0) == magic else { return nil }
        let checked = bytes.dropFirst(8).prefix(headerSize - 8)
        guard bytes.littleEndian(UInt32.self, at: 4) == CRC32C.checksum(checked, seed: salt) else { return nil }
        return Header(
            sequence: bytes.littleEndian(UInt64.self, at: 8),
            attributesLength: Int(bytes.littleEndian(UInt32.self, at: 16)),
            bodyLength: Int(bytes.littleEndian(UInt32.self, at: 20)),
            payloadChecksum: bytes.littleEndian(UInt32.self, at: 24))
    }

    /// Nil unless the payload behind `header` is what was written. `bytes` is the whole record.
    static func entry(_ header: Header, decoding bytes: ArraySlice<UInt8>, salt: UInt32) -> SpoolEntry? {
        let payload = bytes.dropFirst(headerSize).prefix(header.attributesLength + header.bodyLength)
        guard payload.count == header.attributesLength + header.bodyLength,
            CRC32C.checksum(payload, seed: salt) == header.payloadChecksum,
            let attributes = SpoolRecord.attributes(decoding: payload.prefix(header.attributesLength))
        else { return nil }
        let body = Array(payload.dropFirst(header.attributesLength))
        return SpoolEntry(sequence: header.sequence, record: SpoolRecord(attributes: attributes, body: body))
    }
}

extension [UInt8] {
    mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }
}

extension ArraySlice<UInt8> {
    /// The number `offset` bytes behind the start; the caller has checked that it is there.
    func littleEndian<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number {
        var number: Number = 0
        for index in (0..<MemoryLayout<Number>.size).reversed() {
            number = number << 8 | Number(truncatingIfNeeded: self[startIndex + offset + index])
        }
        return number
    }
}
