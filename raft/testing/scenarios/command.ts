import type { Stage } from './stage.js';
import type { Words } from './words.js';

/** One word of the command language: takes the words after it and acts on the stage. */
export type Command = (stage: Stage, words: Words) => void;

export type Commands = Readonly<Record<string, Command>>;
