import { Link } from './link.js';
import { Name } from './text.js';

interface CrumbProps {
  /** The page above, and what it is called. */
  readonly to: string;
  readonly title: string;
  /** The name of what this page shows. */
  readonly name: string;
}

/** The heading of a page that shows one of the things of another page. */
export function Crumb({ to, title, name }: CrumbProps) {
  return (
    <>
      <Link to={to} class="crumb">
        {title}
      </Link>{' '}
      <span class="quiet">/</span> <Name text={name} />
    </>
  );
}
