/**
 * Partitions by depth, as seeds on a canvas: ten thousand of them are one drawing, not as many
 * elements. It is for eyes and pointers; the table beside it says the same, and goes by keys.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { LEVELS, seedAt, seedsOf, sideOf } from '../base/sunflower.js';

interface SunflowerProps {
  /** Descending. */
  readonly depths: readonly number[];
  /** The seed below the pointer; null: none. */
  readonly onPoint: (seed: number | null) => void;
  readonly onChoose: (seed: number) => void;
}

const SIDE_PX_MAX = 400;

export function Sunflower({ depths, onPoint, onChoose }: SunflowerProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [widthPx, setWidth] = useState(0);
  const sidePx = sideOf(depths.length, widthPx);
  const [isDark, setDark] = useState(DARK.matches);
  const current = useRef({ depths, onPoint, onChoose });
  current.current = { depths, onPoint, onChoose };
  useLayoutEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return;
    const look = () => setWidth(Math.min(box.clientWidth, SIDE_PX_MAX));
    const observer = new ResizeObserver(look);
    observer.observe(box);
    look();
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const change = () => setDark(DARK.matches);
    DARK.addEventListener('change', change);
    return () => DARK.removeEventListener('change', change);
  }, []);
  useEffect(() => {
    if (canvas.current !== null && sidePx > 0) draw(canvas.current, depths, sidePx);
  }, [depths, sidePx, isDark]);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const at = ({ offsetX, offsetY }: MouseEvent) =>
      seedAt(current.current.depths.length, element.clientWidth, offsetX, offsetY);
    const move = (event: MouseEvent) => current.current.onPoint(at(event));
    const leave = () => current.current.onPoint(null);
    const choose = (event: MouseEvent) => {
      const seed = at(event);
      if (seed !== null) current.current.onChoose(seed);
    };
    element.addEventListener('mousemove', move);
    element.addEventListener('mouseleave', leave);
    element.addEventListener('click', choose);
    return () => {
      element.removeEventListener('mousemove', move);
      element.removeEventListener('mouseleave', leave);
      element.removeEventListener('click', choose);
    };
  }, []);
  return (
    <div class="sunflower" aria-hidden="true">
      <canvas ref={canvas} />
    </div>
  );
}

const DARK = matchMedia('(prefers-color-scheme: dark)');

/** One path for each level. */
function draw(canvas: HTMLCanvasElement, depths: readonly number[], sidePx: number): void {
  const scale = devicePixelRatio;
  canvas.width = Math.round(sidePx * scale);
  canvas.height = canvas.width;
  canvas.style.width = `${sidePx}px`;
  canvas.style.height = `${sidePx}px`;
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(scale, scale);
  const styles = getComputedStyle(canvas);
  const seeds = seedsOf(depths, sidePx);
  for (let level = 0; level <= LEVELS; level++) {
    context.beginPath();
    for (const { x, y, radius, level: own } of seeds) {
      if (own !== level) continue;
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.fillStyle = styles.getPropertyValue(level === 0 ? '--line' : '--accent').trim();
    context.globalAlpha = level === 0 ? 1 : 0.2 + (0.8 * level) / LEVELS;
    context.fill();
  }
}
