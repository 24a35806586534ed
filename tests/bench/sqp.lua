-- SQP for Wireshark, as a peer of the benchmark: challenges, queries and the heads of the five chunks, with the
-- fields of the server info. All integers are big-endian.
--
--   challenge   | 0 | token 4 |
--   request     | 1 | token 4 | version 2 | chunks 1 |
--   response    | 1 | token 4 | version 2 | packet 1 | last packet 1 | length 2 | chunks |
--   chunk       | length 4 | body |
--
-- It is registered heuristically: the port decides nothing.

local sqp = Proto("sqp", "Server Query Protocol")
local types = { [0] = "challenge", [1] = "query" }
local names = { "Server info", "Server rules", "Player info", "Team info", "Metrics" }

local f = {
    type = ProtoField.uint8("sqp.type", "Type", base.DEC, types),
    token = ProtoField.uint32("sqp.token", "Token", base.HEX),
    version = ProtoField.uint16("sqp.version", "Version"),
    chunks = ProtoField.uint8("sqp.chunks", "Requested chunks", base.HEX),
    packet = ProtoField.uint8("sqp.packet", "Packet"),
    last = ProtoField.uint8("sqp.last_packet", "Last packet"),
    length = ProtoField.uint16("sqp.length", "Length"),
    chunk = ProtoField.bytes("sqp.chunk", "Chunk"),
    chunk_length = ProtoField.uint32("sqp.chunk.length", "Chunk length"),
    players = ProtoField.uint16("sqp.players", "Players"),
    max_players = ProtoField.uint16("sqp.max_players", "Most players"),
    name = ProtoField.string("sqp.server_name", "Server name"),
    game = ProtoField.string("sqp.game_type", "Game type"),
    build = ProtoField.string("sqp.build", "Build"),
    map = ProtoField.string("sqp.map", "Map"),
    port = ProtoField.uint16("sqp.port", "Port"),
}
local list = {}
for _, field in pairs(f) do
    list[#list + 1] = field
end
sqp.fields = list

-- What the requests asked for, by conversation and token.
local asked = {}

function sqp.init()
    asked = {}
end

-- Adds a string with its length in front; gives the offset behind it, or nil where it does not fit.
local function text(tree, field, buf, at, stop)
    if at >= stop then
        return nil
    end
    local length = buf(at, 1):uint()
    if at + 1 + length > stop then
        return nil
    end
    if length > 0 then
        tree:add_packet_field(field, buf(at + 1, length), ENC_UTF_8)
    end
    return at + 1 + length
end

local function server_info(tree, buf, at, stop)
    if at + 4 > stop then
        return
    end
    tree:add(f.players, buf(at, 2))
    tree:add(f.max_players, buf(at + 2, 2))
    at = at + 4
    for _, field in ipairs({ f.name, f.game, f.build, f.map }) do
        at = text(tree, field, buf, at, stop)
        if not at then
            return
        end
    end
    if at + 2 <= stop then
        tree:add(f.port, buf(at, 2))
    end
end

local function chunks(tree, buf, at, mask)
    for bit = 0, 4 do
        if math.floor(mask / 2 ^ bit) % 2 == 1 then
            if at + 4 > buf:len() then
                return
            end
            local length = buf(at, 4):uint()
            local stop = at + 4 + length
            if stop > buf:len() then
                return
            end
            local chunk = tree:add(f.chunk, buf(at, 4 + length))
            chunk:set_text(names[bit + 1])
            chunk:add(f.chunk_length, buf(at, 4))
            if bit == 0 then
                server_info(chunk, buf, at + 4, stop)
            end
            at = stop
        end
    end
end

local function conversation(client, client_port, server, server_port, token)
    return tostring(client) .. client_port .. ">" .. tostring(server) .. server_port .. "#" .. token
end

local function dissect(buf, pinfo, root)
    pinfo.cols.protocol = "SQP"
    local tree = root:add(sqp, buf())
    tree:add(f.type, buf(0, 1))
    tree:add(f.token, buf(1, 4))
    if buf(0, 1):uint() == 0 then
        return
    end
    local token = buf(1, 4):uint()
    tree:add(f.version, buf(5, 2))
    if buf:len() == 8 then
        tree:add(f.chunks, buf(7, 1))
        asked[conversation(pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port, token)] = buf(7, 1):uint()
        return
    end
    tree:add(f.packet, buf(7, 1))
    tree:add(f.last, buf(8, 1))
    tree:add(f.length, buf(9, 2))
    local mask = asked[conversation(pinfo.dst, pinfo.dst_port, pinfo.src, pinfo.src_port, token)] or 1
    chunks(tree, buf, 11, mask)
end

local function looks(buf, pinfo, root)
    local length = buf:len()
    if length < 5 then
        return false
    end
    local kind = buf(0, 1):uint()
    local challenge = kind == 0 and length == 5
    local query = kind == 1 and length >= 8 and buf(5, 1):uint() == 0 and buf(6, 1):uint() <= 2
    if not (challenge or (query and (length == 8 or length >= 11))) then
        return false
    end
    dissect(buf, pinfo, root)
    return true
end

sqp:register_heuristic("udp", looks)
