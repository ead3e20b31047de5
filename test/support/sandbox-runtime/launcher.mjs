// Runs a command line in the sandbox that sandbox-runtime builds on Linux. It takes the place of sandbox-exec and its profile: the arguments
// are the parameters as JSON and the command line.
import { spawnSync } from "node:child_process"
import { existsSync, fstatSync } from "node:fs"

import { wrapCommandWithSandboxLinux } from "@anthropic-ai/sandbox-runtime/dist/sandbox/linux-sandbox-utils.js"

const [, , json, ...commandLine] = process.argv
const { readConfig, writeConfig, proxySocket, httpProxyPort, allowUnixSockets, ...parameters } = JSON.parse(json)
// On Linux there are no patterns, and a rule for a missing path would create it.
const present = (paths = []) => paths.filter((path) => existsSync(path))
const sockets = httpProxyPort === undefined ? {} : { httpSocketPath: proxySocket, socksSocketPath: proxySocket }
const line = await wrapCommandWithSandboxLinux({
  ...parameters,
  ...sockets,
  mandatoryDenySearchDepth: 1,
  allowAllUnixSockets: allowUnixSockets.length > 0,
  readConfig: {
    denyOnly: [],
    literalDenyOnly: present(readConfig.literalDenyOnly),
    literalAllowWithinDeny: present(readConfig.literalAllowWithinDeny),
  },
  writeConfig: {
    allowOnly: [],
    literalAllowOnly: present(writeConfig.literalAllowOnly),
    denyWithinAllow: [],
    literalDenyWithinAllow: present(writeConfig.literalDenyWithinAllow),
  },
  command: commandLine.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(" "),
})
// Node closes a channel of the caller when it replaces itself.
if (!isSocket(3)) process.execve("/bin/sh", ["sh", "-c", `exec ${line}`], process.env)
const { status } = spawnSync("/bin/sh", ["-c", `exec ${line}`], { stdio: [0, 1, 2, 3] })
process.exitCode = status ?? 1

function isSocket(descriptor) {
  try {
    return fstatSync(descriptor).isSocket()
  } catch {
    return false
  }
}
