/**
 * Phrases in the error messages of servers, as lower-case substrings. The order inside a list does not matter;
 * classification-rules.ts defines the order in which the lists are tried.
 */

export const BILLING = [
  "insufficient credits",
  "insufficient_quota",
  "insufficient balance",
  "credit balance",
  "credits exhausted",
  "credits have been exhausted",
  "no usable credits",
  "top up your credits",
  "payment required",
  "billing hard limit",
  "exceeded your current quota",
  "account is deactivated",
  "plan does not include",
  "out of funds",
  "run out of funds",
  "balance_depleted",
  "model_not_supported_on_free_tier",
  "not available on the free tier",
]

export const RATE = [
  "rate limit",
  "rate_limit",
  "too many requests",
  "throttled",
  "requests per minute",
  "tokens per minute",
  "requests per day",
  "try again in",
  "please retry after",
  "resource_exhausted",
  "rate increased too quickly",
  "throttlingexception",
  "too many concurrent requests",
  "servicequotaexceededexception",
]

export const USAGE_LIMIT = ["usage limit", "quota", "limit exceeded", "key limit exceeded"]

/** Together with a usage limit, these phrases mean that the limit resets automatically. */
export const TRANSIENT = [
  "try again",
  "retry",
  "resets at",
  "reset in",
  "wait",
  "requests remaining",
  "periodic",
  "window",
]

export const PAYLOAD = ["request entity too large", "payload too large", "error code: 413"]

export const IMAGE = [
  "image exceeds",
  "image too large",
  "image_too_large",
  "image size exceeds",
  "image dimensions exceed",
  "dimensions exceed max allowed size",
  "max allowed size: 8000",
]

export const MULTIMODAL_TOOL = [
  "text is not set",
  "tool message content must be a string",
  "tool content must be a string",
  "tool message must be a string",
  "expected string, got list",
  "expected string, got array",
  "tool_call.content must be string",
]

export const OVERFLOW = [
  "context length",
  "context size",
  "maximum context",
  "token limit",
  "too many tokens",
  "reduce the length",
  "exceeds the limit",
  "context window",
  "prompt is too long",
  "prompt exceeds max length",
  "max_tokens",
  "maximum number of tokens",
  "exceeds the max_model_len",
  "max_model_len",
  "prompt length",
  "input is too long",
  "maximum model length",
  "context length exceeded",
  "truncating input",
  "slot context",
  "n_ctx_slot",
  "超过最大长度",
  "上下文长度",
  "max input token",
  "input token",
  "exceeds the maximum number of input tokens",
]

export const MODEL = [
  "is not a valid model",
  "invalid model",
  "model not found",
  "model_not_found",
  "does not exist",
  "no such model",
  "unknown model",
  "unsupported model",
]

/** Ollama puts the model name in between. */
export const MODEL_BY_NAME = /model ["'`][^"'`]{1,200}["'`] (?:was |is )?not found/

export const UNKNOWN_PARAMETER = [
  "unknown parameter",
  "unsupported parameter",
  "unrecognized request argument",
  "unknown_parameter",
  "unsupported_parameter",
]

/** Some servers send `invalid_request_error` with every 400, where it means nothing; with a 500 it is significant. */
export const REQUEST_VALIDATION = [...UNKNOWN_PARAMETER, "invalid_request_error"]

export const AGGREGATOR_POLICY = [
  "no endpoints available matching your guardrail",
  "no endpoints available matching your data policy",
  "no endpoints found matching your data policy",
]

/** "content filter" with a space also occurs in ordinary prose and must not match. */
export const CONTENT_POLICY = [
  "flagged for possible cybersecurity risk",
  "trusted access for cyber",
  "violates our usage policies",
  "violates openai's usage policies",
  "your request was flagged by",
  "prompt was flagged by our safety",
  "responses cannot be generated due to safety",
  "content_filter",
  "responsibleaipolicyviolation",
]

export const AUTH = [
  "invalid api key",
  "invalid_api_key",
  "authentication",
  "unauthorized",
  "forbidden",
  "invalid token",
  "token expired",
  "token revoked",
  "access denied",
]

export const TIMEOUT = ["timed out", "deadline exceeded"]

export const DISCONNECT = [
  "server disconnected",
  "peer closed connection",
  "connection reset by peer",
  "connection was closed",
  "network connection lost",
  "unexpected eof",
  "incomplete chunked read",
  "other side closed",
  "socket hang up",
  "terminated",
]

export const TLS = [
  "bad record mac",
  "ssl alert",
  "tls alert",
  "ssl handshake failure",
  "tlsv1 alert",
  "sslv3 alert",
  "bad_record_mac",
  "ssl_alert",
  "tls_alert",
  "tls_alert_internal_error",
  "[ssl:",
]

/** Codes and class names of errors thrown by Node, undici and the vendors' SDKs. */
export const DISCONNECT_CODES = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/
export const TLS_CODES = /^(ERR_SSL_|EPROTO$)/
export const TRANSPORT_CODES = new RegExp(
  [
    "^(ETIMEDOUT|ERR_TOTAL_TIME|ECONNREFUSED|ECONNABORTED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_\\w+_TIMEOUT|ERR_PROXY_\\w+)$",
    "^(Read|Connect|Pool)Timeout(Error)?$",
    "^(Connect|Connection|ConnectionReset|ConnectionAborted|RemoteProtocol|BrokenPipe|Timeout|Read|ServerDisconnected)Error$",
    "^API(Connection|Timeout|ConnectionTimeout)Error$",
    "^(AbortError|SSL\\w*)$",
    "^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)",
  ].join("|"),
)

/** The model accepts no image input. */
export const NO_IMAGES = [
  "does not support image",
  "do not support image",
  "doesn't support image",
  "support image input",
  "not support images",
  "image input is not supported",
  "image inputs are not supported",
  "images are not supported",
  "image_url is not supported",
  "image_url is only supported",
  "unknown variant `image_url`",
  "does not support vision",
  "not a multimodal model",
  "model does not accept image",
]

/** For example "streaming is not supported for this model". */
export const NO_STREAMING = /\bstream(?:ing)?\b[^.]{0,40}\b(?:not supported|unsupported|not allowed)/i

/** For example "Expected `thinking` or `redacted_thinking`, but found `tool_use`"; DeepSeek demands that thinking is "passed back". */
export const THINKING_REQUIRED =
  /\bexpected `?thinking`? or `?redacted_thinking|\bthinking\b.{0,60}\bmust be passed back/i
