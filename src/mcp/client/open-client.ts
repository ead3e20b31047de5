import {
  Client,
  SdkError,
  SdkErrorCode,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client"
import type { ClientOptions, OAuthClientProvider, Transport } from "@modelcontextprotocol/client"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Home } from "../../config/home.ts"
import type { HttpTarget, ServerSettings, StdioTarget } from "../server-settings.ts"
import { childEnvironment } from "./child-environment.ts"
import { classifyFailure, ServerEndedError } from "./explain-failure.ts"
import { openFetch } from "./http-target.ts"
import type { HttpAccess } from "./http-target.ts"
import { createStoredLogin } from "./oauth-provider.ts"
import { StdioTransport } from "./stdio-transport.ts"

export interface OpenClientOptions extends HttpAccess {
  readonly settings: ServerSettings
  readonly home: Home
  readonly clock: Clock
  readonly version: string
  /** Where a stdio server starts, unless its entry names a directory. */
  readonly cwd: string
  readonly onErrorOutput: (text: string) => void
  readonly onTransportError: (error: Error) => void
  /** Which handshake worked last time. */
  readonly protocol?: "legacy" | "modern" | undefined
  readonly listChanged: NonNullable<ClientOptions["listChanged"]>
  /** Registers the handlers for requests of the server. */
  readonly prepare: (client: Client) => void
  /** Used instead of the stored login while the user logs in. */
  readonly login?: OAuthClientProvider
  readonly signal: AbortSignal
}

/** A client whose handshake is done. */
export interface OpenClient {
  readonly client: Client
  readonly protocol: "legacy" | "modern"
  /** Why the connection ended, if the transport knows; completes "the server …". */
  endReason(): string | undefined
  close(): Promise<void>
  /** Ends a child process without waiting. */
  kill(): void
}

/** The SDK's own limit must never be the one that ends a request: `signal` does. */
export const NO_SDK_LIMIT_MS = 2 ** 31 - 1

/** Older servers may not answer a question they do not know, so the newer handshake is given up after a moment. */
const PROBE_MS = 5000

/** Opens a connection and does the handshake. Throws what the transport or the server reports; nothing stays open then. */
export async function openClient(options: OpenClientOptions): Promise<OpenClient> {
  const [first, second] = candidates(options)
  try {
    return await handshake(first, options)
  } catch (error) {
    if (second === undefined || options.signal.aborted || !first.mayFallBack(error)) throw error
    try {
      return await handshake(second, options)
    } catch (later) {
      // The older HTTP transport is a guess, so its failure says less than that of the current one.
      throw options.settings.target.kind === "http" && classifyFailure(later).kind !== "login" ? error : later
    }
  }
}

interface Candidate {
  readonly mode: "legacy" | "auto"
  open(): OpenTransport
  /** Whether the next candidate may succeed where this one failed. */
  mayFallBack(error: unknown): boolean
}

interface OpenTransport {
  readonly transport: Transport
  readonly endReason: () => string | undefined
  readonly close: () => Promise<void>
  readonly kill: () => void
}

function candidates({ settings, protocol, ...options }: OpenClientOptions): readonly [Candidate, Candidate?] {
  const { target } = settings
  const mode = protocol === "legacy" ? "legacy" : "auto"
  if (target.kind === "stdio") {
    const open = (): OpenTransport => openStdio(target, options)
    // A server that ends on a message it does not know is an older one.
    const first: Candidate = { mode, open, mayFallBack: isFailedNegotiation }
    return mode === "legacy" ? [first] : [first, { mode: "legacy", open, mayFallBack: () => false }]
  }
  const http: Candidate = {
    mode,
    open: () => openHttp(target, { ...options, name: settings.name, isSse: false }),
    mayFallBack: (error) => target.transport === "auto" && isWrongTransport(error),
  }
  const sse: Candidate = {
    mode: "legacy",
    open: () => openHttp(target, { ...options, name: settings.name, isSse: true }),
    mayFallBack: () => false,
  }
  if (target.transport === "sse") return [sse]
  return target.transport === "http" ? [http] : [http, sse]
}

function isFailedNegotiation(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
}

/** A server of the older transport refuses POST at its address. */
function isWrongTransport(error: unknown): boolean {
  const { kind, message } = classifyFailure(error)
  return kind === "expired" || /\b(?:400|404|405|501)\b/u.test(message) || isFailedNegotiation(error)
}

async function handshake(candidate: Candidate, options: OpenClientOptions): Promise<OpenClient> {
  const { settings, signal } = options
  const opened = candidate.open()
  const client = new Client(
    { name: "hermes", title: "Hermes", version: options.version },
    {
      capabilities: {
        roots: {},
        ...(settings.sampling.enabled ? { sampling: { tools: {} } } : {}),
        elicitation: { form: { applyDefaults: true }, url: {} },
      },
      versionNegotiation: {
        mode: candidate.mode,
        probe: { timeoutMs: Math.min(PROBE_MS, settings.connectTimeoutMs / 3) },
      },
      listChanged: options.listChanged,
    },
  )
  client.onerror = options.onTransportError
  options.prepare(client)
  try {
    const connecting = client.connect(opened.transport, { timeout: NO_SDK_LIMIT_MS, signal }).then(() => true)
    // The SDK does not listen to the signal in every phase of the handshake.
    if ((await orAborted(connecting, signal)) === undefined)
      throw new ServerEndedError("was closed while it was connecting", { isPermanent: true })
  } catch (error) {
    const endedBefore = opened.endReason()
    await opened.close()
    // A failed write may be the first sign that a program has ended. Otherwise it ends because it was closed here.
    const reason = endedBefore ?? (classifyFailure(error).kind === "lost" ? opened.endReason() : undefined)
    if (error instanceof ServerEndedError || reason === undefined || isFailedNegotiation(error)) throw error
    throw new ServerEndedError(reason)
  }
  const { endReason, kill } = opened
  return {
    client,
    protocol: client.getProtocolEra() === "modern" ? "modern" : "legacy",
    endReason,
    kill,
    close: async () => {
      await opened.close()
      await client.close().catch(() => undefined)
    },
  }
}

type TransportOptions = Omit<OpenClientOptions, "settings" | "protocol">

function openStdio(target: StdioTarget, options: TransportOptions): OpenTransport {
  const transport = new StdioTransport({
    commandLine: [target.command, ...target.args],
    environment: childEnvironment(options.environment.toObject(), target.env),
    cwd: target.cwd ?? options.cwd,
    onErrorOutput: options.onErrorOutput,
  })
  return {
    transport,
    endReason: () => transport.endReason,
    close: () => transport.close(),
    kill: () => {
      transport.kill()
    },
  }
}

function openHttp(
  target: HttpTarget,
  options: TransportOptions & { readonly name: string; readonly isSse: boolean },
): OpenTransport {
  const { fetch, close } = openFetch(target, options)
  const url = new URL(target.url)
  const { home, clock, name: server } = options
  const login =
    options.login ??
    createStoredLogin({
      home,
      server,
      clock,
      settings: target.oauth ?? { clientName: `Hermes (${server})`, timeoutMs: 0 },
      serverUrl: url,
      fetchFn: fetch,
    })
  const given = {
    fetch,
    requestInit: { headers: { ...target.headers } },
    ...(login === undefined ? {} : { authProvider: login }),
  }
  const transport = options.isSse ? new SSEClientTransport(url, given) : new StreamableHTTPClientTransport(url, given)
  return {
    transport,
    endReason: () => undefined,
    close: async () => {
      if (transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined)
        await withLimit(transport.terminateSession())
      await transport.close().catch(() => undefined)
      close()
    },
    kill: close,
  }
}

const TERMINATE_MS = 1000

/** Tells the server that the session is over, but does not wait long: closing must not hang. */
async function withLimit(work: Promise<void>): Promise<void> {
  const limit = AbortSignal.timeout(TERMINATE_MS)
  const over = new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve(), { once: true }))
  await Promise.race([work.catch(() => undefined), over])
}
