internal import CRabbitMQ
internal import Time

extension amqp_bytes_t {
    /// A copy as text; what is not UTF-8 is mended.
    var text: String {
        guard let start = unsafe bytes, unsafe len > 0 else { return "" }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: len), as: UTF8.self)
    }
}

extension amqp_field_value_t {
    /// Text, numbers and truth as text; nil for what has parts.
    var text: String? {
        switch Int32(unsafe kind) {
        case Int32(AMQP_FIELD_KIND_UTF8.rawValue), Int32(AMQP_FIELD_KIND_BYTES.rawValue): unsafe value.bytes.text
        case Int32(AMQP_FIELD_KIND_BOOLEAN.rawValue): unsafe value.boolean != 0 ? "true" : "false"
        default: unsafe number.map { "\($0)" }
        }
    }

    var number: Int64? {
        switch Int32(unsafe kind) {
        case Int32(AMQP_FIELD_KIND_I8.rawValue): unsafe Int64(value.i8)
        case Int32(AMQP_FIELD_KIND_U8.rawValue): unsafe Int64(value.u8)
        case Int32(AMQP_FIELD_KIND_I16.rawValue): unsafe Int64(value.i16)
        case Int32(AMQP_FIELD_KIND_U16.rawValue): unsafe Int64(value.u16)
        case Int32(AMQP_FIELD_KIND_I32.rawValue): unsafe Int64(value.i32)
        case Int32(AMQP_FIELD_KIND_U32.rawValue): unsafe Int64(value.u32)
        case Int32(AMQP_FIELD_KIND_I64.rawValue): unsafe value.i64
        case Int32(AMQP_FIELD_KIND_U64.rawValue), Int32(AMQP_FIELD_KIND_TIMESTAMP.rawValue):
            unsafe Int64(clamping: value.u64)
        default: nil
        }
    }
}

extension ContentAssembler.Properties {
    /// Copies what librabbitmq decoded; its memory is reused for the next frame.
    init(_ properties: UnsafePointer<amqp_basic_properties_t>) {
        self.init()
        let flags = unsafe Int32(bitPattern: properties.pointee._flags)
        func text(_ flag: Int32, _ bytes: amqp_bytes_t) -> String? {
            unsafe flags & flag != 0 ? bytes.text : nil
        }
        unsafe message.contentType = text(AMQP_BASIC_CONTENT_TYPE_FLAG, properties.pointee.content_type)
        unsafe message.messageID = text(AMQP_BASIC_MESSAGE_ID_FLAG, properties.pointee.message_id)
        unsafe message.type = text(AMQP_BASIC_TYPE_FLAG, properties.pointee.type)
        unsafe correlation = text(AMQP_BASIC_CORRELATION_ID_FLAG, properties.pointee.correlation_id) ?? ""
        if flags & AMQP_BASIC_TIMESTAMP_FLAG != 0 {
            let seconds = unsafe Int64(clamping: properties.pointee.timestamp)
            message.timestamp = Timestamp(milliseconds: 0) + .seconds(seconds)
        }
        guard flags & AMQP_BASIC_HEADERS_FLAG != 0 else { return }
        let table = unsafe properties.pointee.headers
        var headers: [(name: String, value: String)] = []
        for index in 0..<Int(max(0, unsafe table.num_entries)) {
            let entry = unsafe table.entries[index]
            switch unsafe entry.key.text {
            case "x-delivery-count": unsafe deliveryCount = Int(clamping: entry.value.number ?? 0)
            case "x-stream-offset": unsafe streamOffset = entry.value.number
            // The broker's own, such as x-first-death-queue, would be taken for the sender's when published again.
            case let name where name.hasPrefix("x-"): continue
            case let name: if let text = unsafe entry.value.text { headers.append((name, text)) }
            }
        }
        for header in WireLimits.received(headers) { message.headers[header.name] = header.value }
    }
}
