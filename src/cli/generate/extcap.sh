#!/bin/sh
# Makes qdissect an interface of Wireshark and tshark: it asks a game server, or takes the queries out of a capture, and marks what
# is wrong in them. Written by `qdissect generate extcap`; it belongs, executable, into the folder of personal extcap programs,
# which Help > About Wireshark > Folders names. qdissect must be on the search path.
set -eu

interface= fifo= action= server= protocol= count=1 everything= file=

while [ $# -gt 0 ]; do
    case $1 in
        --extcap-interfaces | --extcap-dlts | --extcap-config | --capture) action=$1 ;;
        --everything) everything=--all ;;
        --extcap-interface | --fifo | --server | --protocol | --count | --file)
            [ $# -gt 1 ] || { echo "$1 needs a value" >&2; exit 2; }
            case $1 in
                --extcap-interface) interface=$2 ;;
                --fifo) fifo=$2 ;;
                --server) server=$2 ;;
                --protocol) protocol=$2 ;;
                --count) count=$2 ;;
                --file) file=$2 ;;
            esac
            shift
            ;;
        --extcap-capture-filter | --extcap-version)
            [ $# -gt 1 ] && shift
            ;;
    esac
    shift
done

interfaces() {
    echo 'extcap {version=@VERSION@}{display=qdissect}'
    echo 'interface {value=qdissect-ask}{display=Ask a game server (qdissect)}'
    echo 'interface {value=qdissect-file}{display=Game-server queries of a capture, with findings (qdissect)}'
}

options() {
    case $interface in
        qdissect-ask)
            echo 'arg {number=0}{call=--server}{display=Server}{tooltip=Host and port; without a port that of the protocol}{type=string}{required=true}'
            echo 'arg {number=1}{call=--protocol}{display=Protocol}{type=selector}{required=true}'
            cat <<'PROTOCOLS'
@PROTOCOLS@
PROTOCOLS
            echo 'arg {number=2}{call=--count}{display=How often}{tooltip=Once a second}{type=integer}{range=1,1000}{default=1}'
            echo 'arg {number=3}{call=--everything}{display=Everything}{tooltip=Ask for everything there is}{type=boolflag}'
            ;;
        qdissect-file)
            echo 'arg {number=0}{call=--file}{display=Capture}{type=fileselect}{mustexist=true}{required=true}'
            ;;
    esac
}

# Writes what is recognised in a capture, with its findings as comments.
annotated() {
    exec qdissect dump -q --output /dev/null --annotate -w "$fifo" "$@"
}

capture() {
    case $interface in
        qdissect-ask)
            folder=$(mktemp -d)
            trap 'rm -rf "$folder"' EXIT
            trap 'exit 0' INT TERM
            # A server that does not answer is no failure here: what was asked is shown.
            qdissect ask "$protocol" "$server" -q -c "$count" $everything -w "$folder/asked.pcapng" >&2 || [ $? -lt 4 ]
            (annotated --all "$folder/asked.pcapng")
            ;;
        qdissect-file) annotated -- "$file" ;;
    esac
}

case $action in
    --extcap-interfaces) interfaces ;;
    --extcap-dlts)
        case $interface in
            qdissect-ask) echo 'dlt {number=101}{name=RAW}{display=Raw IP}' ;;
            qdissect-file) echo 'dlt {number=1}{name=EN10MB}{display=As in the capture}' ;;
        esac
        ;;
    --extcap-config) options ;;
    --capture) capture ;;
    *)
        echo 'This is an extcap program: Wireshark starts it.' >&2
        exit 2
        ;;
esac
