import {
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client"

import { errorCode, errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"

/** Why something that a server should do failed. */
export interface ServerFailure {
  /**
   * `login`: the server wants a login. `expired`: it has forgotten our session. `lost`: there is no connection. `refused`: it answered
   * with an error. `permanent`: another attempt cannot succeed.
   */
  readonly kind: "login" | "expired" | "lost" | "refused" | "permanent"
  /** Completes "the server …". */
  readonly message: string
  /** The rights that a login needs, if the server says so. */
  readonly scope?: string
}

/** The program of a server could not be started or has ended. The message completes "the server …". */
export class ServerEndedError extends Error {
  override readonly name = "ServerEndedError"
  /** Starting it again would fail in the same way. */
  readonly isPermanent: boolean

  constructor(message: string, { isPermanent = false }: { readonly isPermanent?: boolean } = {}) {
    super(message)
    this.isPermanent = isPermanent
  }
}

const MAX_MESSAGE_CHARS = 1000

export function classifyFailure(error: unknown): ServerFailure {
  if (error instanceof ServerEndedError)
    return { kind: error.isPermanent ? "permanent" : "lost", message: error.message }
  const status = error instanceof SdkHttpError ? error.status : undefined
  if (error instanceof InsufficientScopeError)
    return {
      kind: "login",
      message: "wants a login with more rights",
      ...(error.requiredScope === undefined ? {} : { scope: error.requiredScope }),
    }
  if (error instanceof UnauthorizedError || status === 401 || isCode(error, SdkErrorCode.ClientHttpAuthentication))
    return { kind: "login", message: "wants a login" }
  const message = ellipsize(plainMessage(error), MAX_MESSAGE_CHARS)
  if (status === 404 || (status === 400 && /session/iu.test(message)))
    return { kind: "expired", message: `does not know the session any more (${message})` }
  if (/content[ -]type.{0,20}text\/html/iu.test(message) || /<!doctype html|<html/iu.test(message))
    return { kind: "permanent", message: "answers with a web page instead of MCP; check the url" }
  const code = systemCode(error)
  if (code === "ERR_BLOCKED_ADDRESS") return { kind: "permanent", message: `cannot be reached: ${message}` }
  if (isCode(error, SdkErrorCode.ConnectionClosed) || isCode(error, SdkErrorCode.NotConnected))
    return { kind: "lost", message: "closed the connection" }
  if (isCode(error, SdkErrorCode.RequestTimeout)) return { kind: "lost", message: "did not answer in time" }
  if (code !== undefined || error instanceof TypeError || isCode(error, SdkErrorCode.SendFailed))
    return { kind: "lost", message: `cannot be reached: ${NETWORK_ERRORS[code ?? ""] ?? message}` }
  return { kind: "refused", message: `answered with an error: ${message}` }
}

const NETWORK_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at its address",
  ENOTFOUND: "its host name is unknown",
  EAI_AGAIN: "its host name could not be resolved",
  ECONNRESET: "the connection was reset",
  ETIMEDOUT: "it did not answer in time",
}

function isCode(error: unknown, code: SdkErrorCode): boolean {
  return error instanceof SdkError && error.code === code
}

/** The message that says most: a wrapped error often only says that something failed. */
function plainMessage(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  const inner = cause instanceof Error && cause.message !== "" ? `: ${plainMessage(cause)}` : ""
  const own = errorMessage(error)
  return inner !== "" && own.includes(inner.slice(2)) ? own : `${own}${inner}`
}

function systemCode(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof SdkError) continue
    const code = errorCode(current)
    if (code !== undefined) return code
  }
  return undefined
}
