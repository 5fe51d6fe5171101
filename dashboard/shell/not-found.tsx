import { Link } from '../components/link.js';
import { Page } from '../components/page.js';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <p>
        No page has this address. <Link to="/">To the overview</Link>
      </p>
    </Page>
  );
}
