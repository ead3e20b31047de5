import type { ShellWord } from "../shell/understood-command.ts"
import { optionValues } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"

/** The host that a program talks to; undefined when its arguments do not say. */
export function networkHost(call: Invocation): string | undefined {
  const words: readonly ShellWord[] = [...call.operands, ...optionValues(call, "--url", "-connect", "-h", "--host")]
  // `-H "Name: value"` is no host, so that forms without a scheme come last and not for programs that send requests.
  for (const pattern of REQUESTS.has(call.program) ? [URL_HOST, DEVICE_HOST] : [URL_HOST, DEVICE_HOST, SCP_HOST]) {
    const host = words.map(({ text }) => pattern.exec(text)?.[1]).find((found) => found !== undefined)
    if (host !== undefined) return host.toLowerCase()
  }
  const plain = call.operands.find(({ text }) =>
    /^(?:[a-z0-9-]+\.)+[a-z0-9-]+(?::\d+)?(?:\/|$)|^localhost(?::\d+)?(?:\/|$)/iu.test(text),
  )
  return plain?.text.split(/[:/]/u)[0]?.toLowerCase()
}

export function isLoopback(host: string | undefined): boolean {
  return host !== undefined && /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|.*\.localhost)$/u.test(host)
}

const URL_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]+)/iu
const DEVICE_HOST = /^\/dev\/(?:tcp|udp)\/([^/]+)\//u
const SCP_HOST = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)/u

const REQUESTS = new Set(["curl", "curlie", "wget", "wget2", "http", "https", "httpie", "xh"])

/** Programs that look up or probe a host. The name alone can carry data to whoever owns the domain. */
export const NAME_LOOKUP_PROGRAMS: readonly string[] =
  "dig nslookup host drill delv kdig dog doggo resolvectl systemd-resolve avahi-resolve avahi-resolve-host-name getent ping ping6 fping arping traceroute traceroute6 tracepath mtr whois finger".split(
    " ",
  )

/** Programs that exchange data with another machine. */
export const NETWORK_PROGRAMS: ReadonlySet<string> = new Set([
  ...NAME_LOOKUP_PROGRAMS,
  ...(
    "curl wget wget2 aria2c http https xh httpie lynx links w3m nc ncat netcat socat telnet ftp lftp tftp sftp scp rsync ssh openssl " +
    "mail mailx sendmail mutt msmtp swaks s-nail nmap hping3 curlie grpcurl websocat wscat rclone s3cmd mc " +
    "aws gsutil gcloud az doctl magic-wormhole wormhole croc ffsend transfer ngrok cloudflared ssh-copy-id ssh-keyscan"
  ).split(" "),
])
