-- Findings of qdissect in Wireshark and tshark: fields, expert information and marked bytes, made of the comments that
-- `qdissect dump -q --annotate -w FILE` puts on packets; with `--annotate=fields` also what each message holds. Written by `qdissect generate wireshark`; it belongs into the folder
-- of personal Lua plugins, which Help > About Wireshark > Folders names.

local qdissect = Proto("qdissect", "Findings of qdissect")

local text = {
    finding = ProtoField.string("qdissect.finding", "Finding"),
    rule = ProtoField.string("qdissect.rule", "Rule"),
    severity = ProtoField.string("qdissect.severity", "Severity"),
    fault = ProtoField.string("qdissect.fault", "At fault"),
    message = ProtoField.string("qdissect.message", "Message"),
    field = ProtoField.string("qdissect.field", "Field"),
    cause = ProtoField.string("qdissect.cause", "Caused by"),
    protocol = ProtoField.string("qdissect.protocol", "Protocol"),
    kind = ProtoField.string("qdissect.kind", "Kind of message"),
    value = ProtoField.string("qdissect.value", "Field"),
}
local marked = ProtoField.bytes("qdissect.bytes", "Marked bytes")
qdissect.fields = {
    text.finding, text.rule, text.severity, text.fault, text.message, text.field, text.cause, marked,
    text.protocol, text.kind, text.value,
}

local experts = {
    error = ProtoExpert.new("qdissect.error", "Error", expert.group.PROTOCOL, expert.severity.ERROR),
    warning = ProtoExpert.new("qdissect.warning", "Warning", expert.group.PROTOCOL, expert.severity.WARN),
    note = ProtoExpert.new("qdissect.note", "Note", expert.group.PROTOCOL, expert.severity.NOTE),
}
qdissect.experts = { experts.error, experts.warning, experts.note }

local comments, payloads = Field.new("frame.comment"), Field.new("udp.payload")

-- The parts of a comment; nil if it is none of qdissect.
local function parts(comment)
    local severity, rule, fault, rest = comment:match("^(%l+) (%u[%u%d]*%-[%u%d%-]*%d) (%l+): (.*)$")
    if not experts[severity or ""] then
        return nil
    end
    local finding = { severity = severity, rule = rule, fault = fault }
    local before, cause = rest:match("^(.*); caused by (%u[%u%d%-]*%d.*)$")
    rest, finding.cause = before or rest, cause
    -- The place stands last, in parentheses. A name in the message may hold some as well.
    local message, place = rest:match("^(.*) (%b())$")
    if place then
        local field, first, last = place:match("^%((.*), payload bytes (%d+)%.%.(%d+)%)$")
        if not field then
            first, last = place:match("^%(payload bytes (%d+)%.%.(%d+)%)$")
        end
        if first then
            finding.first, finding.last = tonumber(first), tonumber(last)
        end
        finding.field = field
        if not first then
            finding.field = place:match("^%(([%w_%.%[%]]+)%)$")
        end
        if first or finding.field then
            rest = message
        end
    end
    finding.message = rest
    return finding
end

-- These bytes of a payload, as far as they stand in this frame.
local function range(first, last, payload)
    if not (first and payload) then
        return nil
    end
    last = math.min(last, payload.len)
    if first >= last then
        return nil
    end
    return payload.range:range(first, last - first)
end

-- Adds what a message holds, a line for each field; false if the comment is about something else.
local function add_fields(comment, payload, tree, info)
    local protocol, kind, bytes, lines = comment:match("^fields (%l[%l%d]*) (%l[%w_]*)([^\n]*)\n(.*)$")
    if not protocol then
        return false
    end
    local here = bytes:match("^, payload bytes 0%.%.%d+$") and payload or nil
    local title = string.format("%s, %s", protocol, kind)
    local top = here and tree:add(qdissect, here.range, title) or tree:add(qdissect, title)
    top:add(text.protocol, protocol):set_generated()
    top:add(text.kind, kind):set_generated()
    local parents = { [0] = top }
    for line in lines:gmatch("[^\n]+") do
        local blanks, value = line:match("^( *)(.*)$")
        local depth = math.floor(#blanks / 4)
        local first, last = value:match(" %[(%d+)%.%.(%d+)%]$")
        local marks = range(tonumber(first), tonumber(last), here)
        local parent = parents[depth] or top
        local item = marks and parent:add(text.value, marks, value) or parent:add(text.value, value)
        item:set_text(value)
        parents[depth + 1] = item
    end
    info.cols.protocol:set(protocol)
    info.cols.info:set(kind)
    return true
end

function qdissect.dissector(buffer, info, tree)
    -- The innermost datagram, where there are tunnels.
    local all = { payloads() }
    local payload = all[#all]
    local found = {}
    for _, comment in ipairs({ comments() }) do
        local line = tostring(comment.value)
        if not add_fields(line, payload, tree, info) then
            found[#found + 1] = parts(line)
        end
    end
    if #found == 0 then
        return
    end
    local top = tree:add(qdissect, string.format("Findings of qdissect: %d", #found))
    for _, finding in ipairs(found) do
        local bytes = range(finding.first, finding.last, payload)
        local title = string.format("%s %s: %s", finding.severity, finding.rule, finding.message)
        local item = bytes and top:add(text.finding, bytes, title, title) or top:add(text.finding, title)
        item:set_text(title)
        for _, name in ipairs({ "severity", "rule", "fault", "message", "field", "cause" }) do
            if finding[name] then
                item:add(text[name], finding[name])
            end
        end
        if bytes then
            item:add(marked, bytes)
        end
        item:add_proto_expert_info(experts[finding.severity], title)
    end
end

register_postdissector(qdissect)
