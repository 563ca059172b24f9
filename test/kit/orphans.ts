import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * Reads `add <pid>` and `drop <pid>` line by line. At the end of its input, which comes also when the test process is killed, it kills
 * what is left, with all that those have started.
 */
const WATCH = `
trap '' INT TERM HUP
left=
while read -r word pid; do
  case $word in
    add) left="$left $pid" ;;
    drop) rest=; for one in $left; do [ "$one" = "$pid" ] || rest="$rest $one"; done; left=$rest ;;
  esac
done
below() {
  for stat in /proc/[0-9]*/stat; do
    { read -r line < "$stat"; } 2>/dev/null || continue
    pid=\${line%% *}
    set -- "$1" \${line##*) }
    [ "$3" = "$1" ] && echo "$pid"
  done
}
seen=
while [ -n "$left" ]; do
  next=
  for one in $left; do seen="$seen $one"; next="$next $(below "$one" | tr '\\n' ' ')"; done
  left=$(echo $next)
done
[ -z "$seen" ] || kill -9 $seen 2>/dev/null
`

let watch: ChildProcess | null = null

function tell(line: string): void {
  if (watch === null) {
    // In a group of its own: what ends the tests of a terminal must not end it first.
    watch = spawn('sh', ['-c', WATCH], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    watch.unref()
    const input = watch.stdin as unknown as Socket
    input.on('error', () => {})
    input.unref()
  }
  watch.stdin!.write(`${line}\n`)
}

/** A process that ends with this one at the latest, however this one ends. */
export function endedWithUs(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  tell(`add ${pid}`)
  child.once('exit', () => tell(`drop ${pid}`))
}
