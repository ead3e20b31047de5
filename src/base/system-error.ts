/** The `code` of a Node system error (ENOENT, EACCES, …), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

export function isNotFound(error: unknown): boolean {
  return errorCode(error) === "ENOENT"
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A system error in words the user can act on; falls back to the error's own message. */
export function explainSystemError(error: unknown): string {
  const code = errorCode(error)
  const sentence = code !== undefined && Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : undefined
  return sentence ?? errorMessage(error)
}

const SENTENCES: Record<string, string> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the disk",
  EDQUOT: "the disk quota is used up",
  EISDIR: "it is a directory",
  EEXIST: "something with that name exists already",
  ENOTDIR: "a part of the path is not a directory",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EFBIG: "the file is too large",
  EBUSY: "it is in use",
  ETXTBSY: "it is a program that is running",
  EIO: "the disk reported an input/output error",
}
