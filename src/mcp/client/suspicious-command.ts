import type { StdioTarget } from "../server-settings.ts"

/**
 * Why a command line must not be started: a shell that sends secret files or data to another machine. Undefined for everything else.
 * Downloading and running a program is what package runners do, and is not suspicious here.
 */
export function suspiciousCommand({ command, args }: Pick<StdioTarget, "command" | "args">): string | undefined {
  if (!SHELL.test(command)) return undefined
  const line = args.join(" ")
  const egress = EGRESS.exec(line)?.[0]
  if (egress === undefined) return undefined
  if (SECRET_FILE.test(line))
    return `it runs a shell that sends a file with secrets to another machine (${egress.trim()})`
  if (UPLOAD.test(line)) return `it runs a shell that sends data to another machine (${egress.trim()})`
  return undefined
}

const SHELL = /(?:^|[/\\])(?:ba|z|da|k|fi|c|tc)?sh(?:\.exe)?$|(?:^|[/\\])(?:cmd|powershell|pwsh)(?:\.exe)?$/iu
const EGRESS =
  /(?:^|[\s;|&(`"'])(?:curl|wget|nc|ncat|netcat|socat|Invoke-WebRequest|iwr)(?=[\s;|&)`"']|$)|\/dev\/(?:tcp|udp)\//iu
const SECRET_FILE =
  /\.env\b|\.ssh\b|id_(?:rsa|ed25519|ecdsa)|\.aws\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.kube\b|credentials\b|auth\.json|\.gnupg\b|\/etc\/(?:passwd|shadow)|\.git-credentials/iu
const UPLOAD =
  /(?:^|\s)(?:-d|--data(?:-\w+)?|-F|--form|-T|--upload-file|--post-(?:data|file)|-Body)(?:[\s=@]|$)|\$\((?:env|printenv|cat|history)\b|`(?:env|printenv|cat)\b|\b(?:env|printenv)\s*\|/u
