/** Reasons of a run that ended before its message was stored, so that the surface returns the text to the user. */
export const NOT_SENT = "not_sent"
export const INTERRUPTED_BEFORE_SENDING = "interrupted_before_sending"
