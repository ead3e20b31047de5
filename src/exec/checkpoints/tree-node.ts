/** A directory as it was last seen, and as a checkpoint holds it. Names are byte text. */
export interface DirectoryNode extends Stamp {
  readonly kind: "directory"
  readonly children: ReadonlyMap<string, TreeNode>
  /** The tree object with everything below, permission bits included. */
  readonly id: string
}

export interface FileNode extends Stamp {
  readonly kind: "file" | "link"
  readonly size: number
  readonly id: string
}

/** Something that no checkpoint can hold. It is marked in the tree, so that a restore leaves the place alone. */
export interface OmittedNode {
  readonly kind: "omitted"
  readonly why: Omission
}

export type Omission = "too-large" | "unreadable" | "special"
export type TreeNode = DirectoryNode | FileNode | OmittedNode

/** How the file system described something; while all of it stays the same, so does the content. */
export interface Stamp {
  /** With the type bits. */
  readonly mode: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  /**
   * False when it had changed so shortly before we looked that a further change could bear the same time. The content is then
   * read again the next time.
   */
  readonly settled: boolean
}
