import { existsSync, lstatSync, mkdirSync, mkdtempSync } from "node:fs"
import { join } from "node:path"

import { quoteForShell } from "../../base/quote-for-shell.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { findClientProgram } from "../client-program.ts"
import type { ClientProgram } from "../client-program.ts"
import { lastLine, runProgram } from "../run-program.ts"
import type { Workspace } from "../workspace.ts"
import { createRemoteWorkspace } from "./remote-workspace.ts"
import type { SyncRequest } from "./remote-workspace.ts"
import type { Transport, TransportFailure } from "./transport.ts"
import { readWorkspaceFacts } from "./workspace-facts.ts"

export interface SshOptions {
  /** The environment of the ssh client. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  readonly host: string
  readonly user: string
  readonly port: number
  /** The private key file; "" leaves the choice to ssh. */
  readonly keyFile: string
  /** Initial remote directory; the account's home unless it is absolute. */
  readonly cwd: string
  /** Directory for the control socket of the shared connection. */
  readonly temporaryDirectory: string
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  readonly sync?: SyncRequest | undefined
  readonly signal: AbortSignal
}

/** Opens a connection that all commands and file operations share. The error says what to do. */
export async function openSshWorkspace(options: SshOptions): Promise<Result<Workspace>> {
  if (options.host === "") return fail("the ssh backend has no host; set terminal.ssh_host")
  if (options.host.startsWith("-") || options.user.startsWith("-")) {
    return fail("terminal.ssh_host and terminal.ssh_user must not begin with a dash")
  }
  if (options.keyFile !== "" && !existsSync(options.keyFile)) {
    return fail(`the key file ${options.keyFile} does not exist; correct terminal.ssh_key`)
  }
  const program = findClientProgram(OPENSSH, options.clientEnvironment)
  if (!program.ok) return program
  const ssh = [
    program.value,
    ...sshArguments(options, socketDirectory(options.temporaryDirectory)),
    destination(options),
  ]
  const transport = sshTransport(ssh, options)
  const facts = await readWorkspaceFacts(transport, { signal: options.signal, timeoutMs: OPEN_MS })
  if (!facts.ok) return fail(facts.error)
  return ok(
    createRemoteWorkspace({
      kind: "ssh",
      isContainer: false,
      transport,
      facts: facts.value,
      cwd: options.cwd.startsWith("/") ? options.cwd : facts.value.cwd,
      startupFiles: options.startupFiles,
      persistentShell: options.persistentShell,
      sync: options.sync,
      release: async () => {
        // Other sessions may share the connection: "stop" makes it refuse new ones and close after the last.
        await runProgram([...ssh.slice(0, -1), "-O", "stop", destination(options)], {
          environment: options.clientEnvironment,
          signal: new AbortController().signal,
          timeoutMs: 5000,
        })
      },
    }),
  )
}

const OPENSSH: ClientProgram = {
  names: ["ssh"],
  variable: "HERMES_SSH_BINARY",
  missing: "ssh is not installed; install the OpenSSH client",
}

/** The options of ssh, without the program and the destination. */
export function sshArguments(
  options: Pick<SshOptions, "host" | "user" | "port" | "keyFile">,
  directory: string,
): readonly string[] {
  const socket = sha256Hex(`${options.user}@${options.host}:${options.port}`).slice(0, 16)
  const settings = [
    "ControlMaster=auto",
    `ControlPath=${join(directory, `${socket}.sock`)}`,
    "ControlPersist=300",
    "BatchMode=yes",
    "StrictHostKeyChecking=accept-new",
    "ConnectTimeout=10",
    // Detects a silently dropped connection within a minute.
    "ServerAliveInterval=15",
  ]
  return [
    "-T",
    ...settings.flatMap((setting) => ["-o", setting]),
    ...(options.port === 22 ? [] : ["-p", String(options.port)]),
    ...(options.keyFile === "" ? [] : ["-i", options.keyFile]),
  ]
}

const OPEN_MS = 30_000
/** The path of a socket is limited to about a hundred bytes, and ssh appends a suffix. */
const MAX_SOCKET_DIRECTORY = 60

function destination({ host, user }: SshOptions): string {
  return user === "" ? host : `${user}@${host}`
}

/** Only this user may use the connection: a directory that another user created is not used. */
function socketDirectory(temporary: string): string {
  const base = temporary.length > MAX_SOCKET_DIRECTORY ? "/tmp" : temporary
  const directory = join(base, "hermes-ssh")
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const found = lstatSync(directory)
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
  return isOurs ? directory : mkdtempSync(`${directory}-`)
}

function sshTransport(ssh: readonly string[], options: SshOptions): Transport {
  return {
    name: `ssh ${destination(options)}:${options.port}`,
    environment: options.clientEnvironment,
    pipesInput: true,
    // The login shell, which may be any shell, parses this line; it only has to start a POSIX shell.
    commandLine: (script, args) => [
      ...ssh,
      ["exec sh -c", ...[script, "hermes", ...args].map(quoteForShell)].join(" "),
    ],
    explain: (failure) => explainSsh(failure, options),
  }
}

/** Turns ssh's error message into one that says what to do. */
function explainSsh(failure: TransportFailure, options: SshOptions): string {
  const to = destination(options)
  if (failure.notStarted !== undefined)
    return `ssh cannot be started (${failure.notStarted}); install the OpenSSH client`
  const found = REASONS.find(([pattern]) => pattern.test(failure.stderr))
  if (found !== undefined) return `${to} cannot be reached: ${found[1]}`
  const message = lastLine(failure.stderr)
  return `the connection to ${to} broke${message === "" ? "" : ` (${message})`}; the next command opens a new one`
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/permission denied/i, "the login was refused; check terminal.ssh_user and terminal.ssh_key"],
  [/could not resolve hostname/i, "the host name cannot be resolved; check terminal.ssh_host"],
  [/connection refused/i, "nothing listens on that port; check terminal.ssh_port and that sshd is running"],
  [
    /connection timed out|operation timed out|no route to host|network is unreachable/i,
    "no response; check the network",
  ],
  [
    /host key verification failed|remote host identification has changed/i,
    "its host key has changed; check why, then correct ~/.ssh/known_hosts",
  ],
  [/unprotected private key file|bad permissions/i, "other users can read the key file; run chmod 600 on it"],
]
